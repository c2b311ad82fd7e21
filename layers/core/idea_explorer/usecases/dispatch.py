"""Turn a message of the queue into an execution: once, and only while there is room for one more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import (
    ConflictError,
    ExplorerError,
    InvalidRequestError,
    MissingError,
    QuotaSpentError,
)
from idea_explorer.domain.events import AnyEvent, ErrorEvent, StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.message import (
    QUEUE_OWNER,
    ExplorationReference,
    QueueMessage,
    find_exploration_id,
    parse_message,
)
from idea_explorer.domain.run import Receipt
from idea_explorer.ports import EventSink, Explorations, Log, Workflow, WorkQueue
from idea_explorer.usecases.request_policy import RequestPolicy
from idea_explorer.usecases.run_events import announce_end, events_of_end
from idea_explorer.usecases.submit import submit

DEFER_SECONDS = 30  # how long a message waits for room before it asks again
# wrong however often it is tried, or until tomorrow, which is longer than the queue tries
POISON = (InvalidRequestError, MissingError, ConflictError, QuotaSpentError)
LAST_RECEIVE = 4  # one before the queue's own redrive, which could not mark the exploration failed

Dispatched = Literal["started", "deferred", "known", "set_aside"]


@dataclass(frozen=True)
class Desk:
    """What dispatching works with."""

    explorations: Explorations
    queue: WorkQueue
    workflow: Workflow
    clock: Clock
    log: Log
    max_running: int
    terms: RequestPolicy
    defer_seconds: int = DEFER_SECONDS
    request_webhook: Callable[[Exploration], None] = lambda _: None
    tell: Callable[[Exploration], None] = lambda _: None
    sinks_for: Callable[[Exploration], Sequence[EventSink]] = lambda _: ()


def dispatch(message: QueueMessage, desk: Desk) -> Dispatched:
    """Deal with one delivery. What it raises, another delivery of the same message may cure.

    A message that cannot be worked on is set aside, and the exploration it names has failed. One
    that finds no room is sent again, because each failed delivery would bring it nearer the end.
    """
    try:
        dispatched = _dispatch(message, desk)
    except POISON as error:
        dispatched = _set_aside(message, error, desk)
    except Exception as error:
        if message.receives < LAST_RECEIVE:
            raise
        failure = ExplorerError(f"The run could not be started ({type(error).__name__}).")
        dispatched = _set_aside(message, failure, desk)
    desk.log.info("message_dispatched", messageId=message.id, result=dispatched)
    return dispatched


def _dispatch(message: QueueMessage, desk: Desk) -> Dispatched:
    exploration, run = _named(message, desk)
    if run > exploration.run.number:
        raise ConflictError(
            f"Exploration {exploration.id} is in run {exploration.run.number}, not {run}."
        )
    if run == exploration.run.number and exploration.status == "cancelled":
        desk.request_webhook(exploration)  # where that was before any workflow had it
    if run < exploration.run.number or exploration.status not in {"queued", "running"}:
        return "known"
    if exploration.status == "queued":
        if desk.explorations.count_running() >= desk.max_running:
            return _defer(exploration, desk)
        _mark_running(exploration, desk)
    # Again for one that runs: whoever marked it may have died before starting it. A name starts once.
    deadline = exploration.request.deadline_seconds
    return "started" if desk.workflow.start(exploration.id, run, deadline) else "known"


def _named(message: QueueMessage, desk: Desk) -> tuple[Exploration, int]:
    named = parse_message(message)
    if isinstance(named, ExplorationReference):
        exploration = desk.explorations.load(named.id)
        return exploration, named.run or exploration.run.number
    exploration = submit(
        named.request,
        QUEUE_OWNER,
        desk.explorations,
        desk.clock,
        terms=replace(desk.terms, daily_cost_usd=None),
        exploration_id=named.id,
    )
    if exploration.status == "queued":
        # only once it is stored: so there is something to resume on another day
        desk.terms.check_quota(QUEUE_OWNER, desk.clock.now())
    return exploration, exploration.run.number


def _defer(exploration: Exploration, desk: Desk) -> Dispatched:
    """Wait in the queue. The record says when it was last looked at, so that no sweep doubles it."""
    if touch(exploration, desk.explorations, desk.clock.now()):
        desk.queue.send(exploration.id, exploration.run.number, delay_seconds=desk.defer_seconds)
        return "deferred"
    return "known"


def touch(exploration: Exploration, explorations: Explorations, now: datetime) -> bool:
    """Note that a queued exploration has a message under way; False where it has gone on meanwhile."""

    def seen(current: Exploration) -> Exploration:
        if current.status != "queued" or current.run.number != exploration.run.number:
            raise ConflictError(f"Exploration {current.id} is {current.status}.")
        return current.replace(updated_at=now)

    try:
        explorations.take_over(exploration.id, seen)
    except ConflictError:
        return False
    return True


def _mark_running(exploration: Exploration, desk: Desk) -> None:
    now = desk.clock.now()
    started = StatusChanged(from_="queued", to="running")
    try:
        running = desk.explorations.take_over(
            exploration.id, lambda e: e.started(at=now), lambda *_: [started]
        )
    except ConflictError:
        return  # another delivery was quicker
    for sink in desk.sinks_for(running):
        sink.emit(started)


def _set_aside(message: QueueMessage, error: ExplorerError, desk: Desk) -> Dispatched:
    desk.log.error("message_set_aside", messageId=message.id, error=error.sentence)
    if exploration_id := _stored_id(message):
        _fail(exploration_id, error, desk)
    desk.queue.dead_letter(message.body, error.sentence)
    return "set_aside"


def _stored_id(message: QueueMessage) -> ExplorationId | None:
    try:
        return parse_message(message).id
    except ExplorerError:
        return find_exploration_id(message)


def _fail(exploration_id: ExplorationId, error: ExplorerError, desk: Desk) -> None:
    """Mark it failed, unless a worker has it or it has ended; then the message tells nothing of it."""
    receipt = Receipt.of(exploration_id, error.code, error.sentence)
    now = desk.clock.now()

    def failed(current: Exploration) -> Exploration:
        if current.status == "running" and current.run.deadline_at is not None:
            raise ConflictError(f"Exploration {current.id} is being worked on.")
        return current.finished("failed", at=now, receipt=receipt)

    told: list[AnyEvent] = []

    def tell(before: Exploration, after: Exploration) -> list[AnyEvent]:
        failure = ErrorEvent(code=error.code, message=error.sentence)
        told[:] = events_of_end(before, after, failure)
        return told

    try:
        exploration = desk.explorations.take_over(exploration_id, failed, tell)
    except (MissingError, ConflictError):
        return
    announce_end(exploration, told, desk.sinks_for(exploration))
    desk.request_webhook(exploration)
