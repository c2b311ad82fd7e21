"""Start what waits while slots are free: of the owner with the fewest running, what has waited longest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from idea_explorer.domain.errors import (
    ConflictError,
    ExplorerError,
    ExternalError,
    MissingError,
    NoFreeSlotError,
)
from idea_explorer.domain.events import AnyEvent, ErrorEvent, StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import Receipt
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.run_events import emit_end, end_events

if TYPE_CHECKING:
    from idea_explorer.ports import Slots, WaitingExploration

NEVER = datetime.min.replace(tzinfo=UTC)
MAX_STARTS = 50  # in one call, which has seconds; the next message or sweep goes on


def admit(deps: Deps) -> list[ExplorationId]:
    """Start explorations until no slot is free or nothing waits; returns those that it started.

    Whoever makes a slot free or something wait has this called soon after, by a message to the queue,
    and the sweep calls it every minute. It may run any number of times at once.
    """
    started: list[ExplorationId] = []
    waiting = {first.owner: first for first in deps.admission.longest_waiting()}
    for _ in range(MAX_STARTS):
        slots = deps.admission.slots()
        chosen = choose(list(waiting.values()), slots)
        if chosen is None or slots.paused or len(slots.holders) >= deps.max_running:
            break
        try:
            exploration = take_slot(chosen.id, deps)
        except NoFreeSlotError:
            break
        except ExternalError:
            raise
        except Exception as error:  # noqa: BLE001  one record must not keep all others from starting
            # most often it was started or cancelled by another, which took it off the list
            kind = type(error).__name__
            deps.log.info("waiting_dropped", explorationId=chosen.id, errorType=kind)
            deps.admission.forget(chosen)
        else:
            if launch(exploration, deps):
                started.append(exploration.id)
        waiting.pop(chosen.owner)
        waiting |= {first.owner: first for first in deps.admission.longest_waiting(chosen.owner)}
    if started:
        deps.log.info("explorations_started", count=len(started))
    return started


def admit_or_log(deps: Deps) -> None:
    """After a batch of messages, which are handled: a failure here must not deliver them again. The sweep
    starts what waits."""
    try:
        admit(deps)
    except ExplorerError as error:
        deps.log.warning("admission_failed", error=error.sentence)


def choose(waiting: Sequence[WaitingExploration], slots: Slots) -> WaitingExploration | None:
    """One owner's thousands do not delay another owner's first: owners with as many running take turns."""
    running = Counter(slots.holders.values())

    def turn(entry: WaitingExploration) -> tuple[int, datetime, datetime]:
        return running[entry.owner], entry.owner_started or NEVER, entry.since

    return min(waiting, key=turn, default=None)


def take_slot(exploration_id: ExplorationId, deps: Deps) -> Exploration:
    """Mark an exploration running, in one transaction with its slot. Raises NoFreeSlotError, or
    ConflictError if it does not wait any more."""
    now = deps.clock.now()
    changes: list[StatusChanged] = []

    def start(exploration: Exploration) -> Exploration:
        if exploration.waiting_since is None:
            raise ConflictError(f"Exploration {exploration.id} does not wait to be started.")
        return exploration.started(at=now)

    def events(before: Exploration, after: Exploration) -> list[StatusChanged]:
        changes[:] = [StatusChanged(from_=before.status, to=after.status)]
        return changes

    running = deps.explorations.take_over(exploration_id, start, events, slots=deps.max_running)
    for sink in deps.sinks_for(running):
        for change in changes:
            sink.emit(change)
    return running


def launch(exploration: Exploration, deps: Deps) -> bool:
    """Start the execution of an exploration that was marked running, or let its execution go on.

    Safe to repeat: the sweep does so until a worker has begun. False if it was launched before, or
    cannot be now. A failure that no repetition cures ends the exploration, and so does an execution that
    has ended, as a record restored from a backup may have.
    """
    try:
        return _launch(exploration, deps)
    except ExplorerError as error:
        deps.log.warning("launch_failed", explorationId=exploration.id, error=error.sentence)
        if not error.retryable:
            fail(exploration.id, error, deps)
        return False


def _launch(exploration: Exploration, deps: Deps) -> bool:
    run, workflow = exploration.run.number, deps.workflow()
    goes_on = exploration.run.awaiting_since is not None
    if goes_on:
        deps.wake(exploration)
    elif workflow.start(exploration.id, run, exploration.request.seconds):
        return True
    if not workflow.is_running(exploration.id, run):
        raise ConflictError(f"The execution of run {run} has ended.", hint="Resume it.")
    return goes_on


def fail(exploration_id: ExplorationId, error: ExplorerError, deps: Deps) -> None:
    """Mark an exploration failed, unless it is being worked on or has ended."""
    receipt = Receipt.of(exploration_id, error.code, error.sentence)
    now = deps.clock.now()

    def failed(current: Exploration) -> Exploration:
        if current.status == "running" and not current.is_starting:
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
    from idea_explorer.usecases.notify import request_webhook  # few explorations end in the queue

    request_webhook(exploration, deps)
