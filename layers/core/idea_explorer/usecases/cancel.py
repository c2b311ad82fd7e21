"""Cancel an exploration; what it has so far is kept."""

import math

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Receipt
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find
from idea_explorer.usecases.run_events import emit_end, end_events

CHECK_SECONDS = 1.0


class _StartedError(ConflictError):
    """It has started meanwhile: its worker will see the request to cancel."""


def cancel(exploration_id: str, owner: str, deps: Deps) -> Exploration:
    """Cancel a queued exploration at once, and ask any other to stop. Safe to repeat.

    One that waits for approval is woken, so that it can end: its text is kept, and changes that were
    approved before are proposed.
    """
    exploration = find(exploration_id, owner, deps)
    if exploration.status == "cancelled":
        return exploration
    if exploration.is_final:
        raise ConflictError(
            f"Exploration {exploration.id} is {exploration.status}; there is nothing to cancel."
        )
    # requested first: a worker that takes it between this line and the next ones then stops by itself
    deps.explorations.request_cancel(exploration.id)
    if exploration.status == "awaiting_approval":
        deps.wake(exploration)
    if exploration.status != "queued":
        return deps.explorations.load(exploration.id)
    try:
        cancelled = deps.explorations.take_over(
            exploration.id, lambda e: _cancelled(e, deps), end_events
        )
    except _StartedError:
        return deps.explorations.load(exploration.id)
    emit_end(cancelled, end_events(exploration, cancelled), deps.sinks_for(cancelled))
    return cancelled


def is_cancelled(exploration: Exploration, deps: Deps) -> bool:
    """Whether its run has to stop. A branch stops with the exploration that it is a part of."""
    ids = [exploration.id, *([exploration.parent] if exploration.parent else [])]
    return any(deps.explorations.is_cancelled(known) for known in ids)


@dataclass
class CancelCheck:
    """`is_cancelled`, with a look at the store at most once a second: a step asks several times."""

    exploration: Exploration
    deps: Deps
    _looked_at: float = -math.inf
    _found: bool = False

    def __call__(self) -> bool:
        now = self.deps.clock.monotonic()
        if now - self._looked_at >= CHECK_SECONDS:
            self._found = is_cancelled(self.exploration, self.deps)
            self._looked_at = now
        return self._found


def _cancelled(exploration: Exploration, deps: Deps) -> Exploration:
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
    return exploration.finished("cancelled", at=deps.clock.now(), receipt=receipt)
