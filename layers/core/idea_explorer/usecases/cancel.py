"""Stop an exploration soon, keeping what is there."""

from collections.abc import Callable, Sequence

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Receipt
from idea_explorer.ports import EventSink, Explorations
from idea_explorer.usecases.find import find
from idea_explorer.usecases.run_events import announce_end, events_of_end


class _StartedError(ConflictError):
    """It has begun in the meantime; its worker will see the request to stop."""


def cancel(
    exploration_id: str,
    owner: str,
    *,
    explorations: Explorations,
    clock: Clock,
    wake: Callable[[Exploration], None],
    sinks_for: Callable[[Exploration], Sequence[EventSink]] = lambda _: (),
) -> Exploration:
    """One that is queued is cancelled at once; any other is asked to stop. Cancelling twice is once.

    One that waits for a decision is woken for it: what it has come to is kept, and what was approved
    before is proposed.
    """
    exploration = find(exploration_id, owner, explorations)
    if exploration.status == "cancelled":
        return exploration
    if exploration.is_final:
        raise ConflictError(
            f"Exploration {exploration.id} is {exploration.status}; there is nothing to cancel."
        )
    # asked for first: should a worker take it between here and the next lines, it stops by itself
    explorations.request_cancel(exploration.id)
    if exploration.status == "awaiting_approval":
        wake(exploration)
    if exploration.status != "queued":
        return explorations.load(exploration.id)
    try:
        cancelled = explorations.take_over(
            exploration.id, lambda e: _cancelled(e, clock), events_of_end
        )
    except _StartedError:
        return explorations.load(exploration.id)
    announce_end(cancelled, events_of_end(exploration, cancelled), sinks_for(cancelled))
    return cancelled


def _cancelled(exploration: Exploration, clock: Clock) -> Exploration:
    if exploration.status != "queued":
        raise _StartedError(f"Exploration {exploration.id} has started.")
    stats = exploration.run.stats
    receipt = Receipt.of(
        exploration.id,
        "CANCELLED",
        "Cancelled before it started.",
        stats=stats,
        has_text=stats.steps > 0,
    )
    return exploration.finished("cancelled", at=clock.now(), receipt=receipt)
