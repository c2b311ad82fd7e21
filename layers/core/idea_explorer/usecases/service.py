"""What the API answers from."""

from dataclasses import dataclass

from idea_explorer.domain.deadline import Clock
from idea_explorer.ports import EventLog, Explorations, Idempotency, Log, Reports, WorkQueue
from idea_explorer.usecases.terms import Terms


@dataclass(frozen=True)
class Service:
    explorations: Explorations
    events: EventLog
    reports: Reports
    queue: WorkQueue
    idempotency: Idempotency
    clock: Clock
    log: Log
    terms: Terms
    events_wait_seconds: float = 20.0  # API Gateway ends a call after 29
    events_poll_seconds: float = 1.0
