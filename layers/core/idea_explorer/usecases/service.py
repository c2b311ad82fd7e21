"""What the API answers from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.webhook import Target
from idea_explorer.ports import (
    Approvals,
    EventLog,
    EventSink,
    Explorations,
    Idempotency,
    Log,
    Reports,
    ResearchIndex,
    ResearchRepository,
    Uploads,
    Webhooks,
    WorkQueue,
)
from idea_explorer.usecases.notify import Sender
from idea_explorer.usecases.request_policy import RequestPolicy


@dataclass(frozen=True)
class Service:
    """`wake` lets a run go on whose proposals are all decided; to be repeated is no harm.

    What is asked for by a call is made when it is needed: an HTTP client takes long to load, and a
    folder may come to hold research. A deployment's function reads the index, never the repository.
    """

    explorations: Explorations
    events: EventLog
    reports: Reports
    queue: WorkQueue
    idempotency: Idempotency
    clock: Clock
    log: Log
    terms: RequestPolicy
    approvals: Approvals
    wake: Callable[[Exploration], None]
    uploads: Uploads
    index: Callable[[], ResearchIndex]
    research: Callable[[], ResearchRepository | None]
    webhooks: Callable[[], Webhooks]
    repository: str | None = None
    branch: str | None = None
    default_webhook: Callable[[], Target | None] = lambda: None
    sinks_for: Callable[[Exploration], Sequence[EventSink]] = lambda _: ()
    events_wait_seconds: float = 20.0  # API Gateway ends a call after 29
    events_poll_seconds: float = 1.0

    def sender(self) -> Sender:
        return Sender(
            explorations=self.explorations,
            reports=self.reports,
            webhooks=self.webhooks(),
            clock=self.clock,
            repository=self.repository,
            branch=self.branch,
            default=self.default_webhook,
        )
