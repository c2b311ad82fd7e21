"""Start an execution for a message of the queue: once, and only while there is a free slot."""

from dataclasses import replace
from typing import Literal

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
from idea_explorer.domain.request import (
    QUEUE_OWNER,
    ExplorationReference,
    QueueMessage,
    find_exploration_id,
    parse_message,
)
from idea_explorer.domain.run import Receipt
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.notify import request_webhook
from idea_explorer.usecases.run_events import emit_end, end_events
from idea_explorer.usecases.submit import submit

# retrying does not help, or not before tomorrow, when the queue has given up
POISON = (InvalidRequestError, MissingError, ConflictError, QuotaSpentError)
LAST_RECEIVE = 4  # one before the queue's own redrive, which could not mark the exploration failed

Dispatched = Literal["started", "deferred", "known", "dead_lettered"]


def dispatch(message: QueueMessage, deps: Deps) -> Dispatched:
    """Handle one delivery. Raises errors that another delivery of the message may fix.

    A message that can never succeed goes to the dead-letter queue, and the exploration it names fails.
    One that finds no free slot is sent again: a failed delivery would count against its retries.
    """
    try:
        dispatched = _dispatch(message, deps)
    except POISON as error:
        dispatched = _dead_letter(message, error, deps)
    except Exception as error:
        if message.receives < LAST_RECEIVE:
            raise
        failure = ExplorerError(f"The run could not be started ({type(error).__name__}).")
        dispatched = _dead_letter(message, failure, deps)
    deps.log.info("message_dispatched", messageId=message.id, result=dispatched)
    return dispatched


def _dispatch(message: QueueMessage, deps: Deps) -> Dispatched:
    exploration, run = _named(message, deps)
    if run > exploration.run.number:
        raise ConflictError(
            f"Exploration {exploration.id} is in run {exploration.run.number}, not {run}."
        )
    if run == exploration.run.number and exploration.status == "cancelled":
        request_webhook(exploration, deps)  # no workflow has seen it that could send it
    if run < exploration.run.number or exploration.status not in {"queued", "running"}:
        return "known"
    if exploration.status == "queued":
        if deps.explorations.count_running() >= deps.max_running:
            return _defer(exploration, deps)
        _mark_running(exploration, deps)
    # Also for one that is marked running: the marking process may have died before it started the
    # execution. Step Functions starts a name only once.
    deadline = exploration.request.deadline_seconds
    return "started" if deps.workflow().start(exploration.id, run, deadline) else "known"


def _named(message: QueueMessage, deps: Deps) -> tuple[Exploration, int]:
    named = parse_message(message)
    if isinstance(named, ExplorationReference):
        exploration = deps.explorations.load(named.id)
        return exploration, named.run or exploration.run.number
    without_quota = replace(deps, policy=replace(deps.policy, daily_cost_usd=None))
    exploration = submit(named.request, QUEUE_OWNER, without_quota, exploration_id=named.id)
    if exploration.status == "queued":
        # checked after storing it, so that there is something to resume on another day
        deps.policy.check_quota(QUEUE_OWNER, deps.clock.now())
    return exploration, exploration.run.number


def _defer(exploration: Exploration, deps: Deps) -> Dispatched:
    """Put it back into the queue. The record is touched, so that no sweep sends a second message."""
    if touch(exploration, deps):
        deps.queue().send(exploration.id, exploration.run.number, delay_seconds=deps.defer_seconds)
        return "deferred"
    return "known"


def touch(exploration: Exploration, deps: Deps) -> bool:
    """Record that a message for a queued exploration is on its way; False if it has started meanwhile."""
    now = deps.clock.now()

    def touched(current: Exploration) -> Exploration:
        if current.status != "queued" or current.run.number != exploration.run.number:
            raise ConflictError(f"Exploration {current.id} is {current.status}.")
        return current.replace(updated_at=now)

    try:
        deps.explorations.take_over(exploration.id, touched)
    except ConflictError:
        return False
    return True


def _mark_running(exploration: Exploration, deps: Deps) -> None:
    now = deps.clock.now()
    started = StatusChanged(from_="queued", to="running")
    try:
        running = deps.explorations.take_over(
            exploration.id, lambda e: e.started(at=now), lambda *_: [started]
        )
    except ConflictError:
        return  # another delivery was faster
    for sink in deps.sinks_for(running):
        sink.emit(started)


def _dead_letter(message: QueueMessage, error: ExplorerError, deps: Deps) -> Dispatched:
    deps.log.error("message_dead_lettered", messageId=message.id, error=error.sentence)
    if exploration_id := _stored_id(message):
        _fail(exploration_id, error, deps)
    deps.queue().dead_letter(message.body, error.sentence)
    return "dead_lettered"


def _stored_id(message: QueueMessage) -> ExplorationId | None:
    try:
        return parse_message(message).id
    except ExplorerError:
        return find_exploration_id(message)


def _fail(exploration_id: ExplorationId, error: ExplorerError, deps: Deps) -> None:
    """Mark the exploration failed, unless it is being worked on or has ended."""
    receipt = Receipt.of(exploration_id, error.code, error.sentence)
    now = deps.clock.now()

    def failed(current: Exploration) -> Exploration:
        if current.status == "running" and current.run.deadline_at is not None:
            raise ConflictError(f"Exploration {current.id} is being worked on.")
        return current.finished("failed", at=now, receipt=receipt)

    events: list[AnyEvent] = []

    def failed_events(before: Exploration, after: Exploration) -> list[AnyEvent]:
        failure = ErrorEvent(code=error.code, message=error.sentence)
        events[:] = end_events(before, after, failure)
        return events

    try:
        exploration = deps.explorations.take_over(exploration_id, failed, failed_events)
    except (MissingError, ConflictError):
        return
    emit_end(exploration, events, deps.sinks_for(exploration))
    request_webhook(exploration, deps)
