"""Turn a message of the queue into an execution: once, and only while there is room for one more."""

from dataclasses import replace
from typing import Literal

from idea_explorer.domain.errors import (
    ConflictError,
    ExplorerError,
    InvalidRequestError,
    MissingError,
    QuotaSpentError,
)
from idea_explorer.domain.events import AnyEvent, Failed, StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.message import (
    QUEUE_OWNER,
    Message,
    Reference,
    named_in,
    parse_message,
)
from idea_explorer.domain.run import Receipt
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.notify import request_webhook
from idea_explorer.usecases.run_events import announce_end, events_of_end
from idea_explorer.usecases.submit import submit

# wrong however often it is tried, or until tomorrow, which is longer than the queue tries
POISON = (InvalidRequestError, MissingError, ConflictError, QuotaSpentError)
LAST_RECEIVE = 4  # one before the queue's own redrive, which could not mark the exploration failed

Dispatched = Literal["started", "deferred", "known", "set_aside"]


def dispatch(message: Message, deps: Deps) -> Dispatched:
    """Deal with one delivery. What it raises, another delivery of the same message may cure.

    A message that cannot be worked on is set aside, and the exploration it names has failed. One
    that finds no room is sent again, because each failed delivery would bring it nearer the end.
    """
    try:
        dispatched = _dispatch(message, deps)
    except POISON as error:
        dispatched = _set_aside(message, error, deps)
    except Exception as error:
        if message.receives < LAST_RECEIVE:
            raise
        failure = ExplorerError(f"The run could not be started ({type(error).__name__}).")
        dispatched = _set_aside(message, failure, deps)
    deps.log.info("message_dispatched", messageId=message.id, result=dispatched)
    return dispatched


def _dispatch(message: Message, deps: Deps) -> Dispatched:
    exploration, run = _named(message, deps)
    if run > exploration.run.number:
        raise ConflictError(
            f"Exploration {exploration.id} is in run {exploration.run.number}, not {run}."
        )
    if run == exploration.run.number and exploration.status == "cancelled":
        request_webhook(exploration, deps)  # where that was before any workflow had it
    if run < exploration.run.number or exploration.status not in {"queued", "running"}:
        return "known"
    if exploration.status == "queued":
        if deps.explorations.count_running() >= deps.max_running:
            return _defer(exploration, deps)
        _mark_running(exploration, deps)
    # Again for one that runs: whoever marked it may have died before starting it. A name starts once.
    deadline = exploration.request.deadline_seconds
    return "started" if deps.workflow().start(exploration.id, run, deadline) else "known"


def _named(message: Message, deps: Deps) -> tuple[Exploration, int]:
    named = parse_message(message)
    if isinstance(named, Reference):
        exploration = deps.explorations.load(named.id)
        return exploration, named.run or exploration.run.number
    without_quota = replace(deps, policy=replace(deps.policy, daily_cost_usd=None))
    exploration = submit(named.request, QUEUE_OWNER, without_quota, exploration_id=named.id)
    if exploration.status == "queued":
        # only once it is stored: so there is something to resume on another day
        deps.policy.check_quota(QUEUE_OWNER, deps.clock.now())
    return exploration, exploration.run.number


def _defer(exploration: Exploration, deps: Deps) -> Dispatched:
    """Wait in the queue. The record says when it was last looked at, so that no sweep doubles it."""
    if touch(exploration, deps):
        deps.queue().send(exploration.id, exploration.run.number, delay_seconds=deps.defer_seconds)
        return "deferred"
    return "known"


def touch(exploration: Exploration, deps: Deps) -> bool:
    """Note that a queued exploration has a message under way; False where it has gone on meanwhile."""
    now = deps.clock.now()

    def seen(current: Exploration) -> Exploration:
        if current.status != "queued" or current.run.number != exploration.run.number:
            raise ConflictError(f"Exploration {current.id} is {current.status}.")
        return current.replace(updated_at=now)

    try:
        deps.explorations.take_over(exploration.id, seen)
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
        return  # another delivery was quicker
    for sink in deps.sinks_for(running):
        sink.emit(started)


def _set_aside(message: Message, error: ExplorerError, deps: Deps) -> Dispatched:
    deps.log.error("message_set_aside", messageId=message.id, error=error.sentence)
    if exploration_id := _stored_id(message):
        _fail(exploration_id, error, deps)
    deps.queue().dead_letter(message.body, error.sentence)
    return "set_aside"


def _stored_id(message: Message) -> ExplorationId | None:
    try:
        return parse_message(message).id
    except ExplorerError:
        return named_in(message)


def _fail(exploration_id: ExplorationId, error: ExplorerError, deps: Deps) -> None:
    """Mark it failed, unless a worker has it or it has ended; then the message tells nothing of it."""
    receipt = Receipt.of(exploration_id, error.code, error.sentence)
    now = deps.clock.now()

    def failed(current: Exploration) -> Exploration:
        if current.status == "running" and current.run.deadline_at is not None:
            raise ConflictError(f"Exploration {current.id} is being worked on.")
        return current.finished("failed", at=now, receipt=receipt)

    told: list[AnyEvent] = []

    def tell(before: Exploration, after: Exploration) -> list[AnyEvent]:
        failure = Failed(code=error.code, message=error.sentence)
        told[:] = events_of_end(before, after, failure)
        return told

    try:
        exploration = deps.explorations.take_over(exploration_id, failed, tell)
    except (MissingError, ConflictError):
        return
    announce_end(exploration, told, deps.sinks_for(exploration))
    request_webhook(exploration, deps)
