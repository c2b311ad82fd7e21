"""Wait for a person's decisions: store the workflow's token, and end the wait, in time or not."""

from collections.abc import Sequence

from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.transcript import AnyEntry, ApprovalsDecided
from idea_explorer.usecases.admission import take_slot
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.submit import enqueue

EXPIRED = "approval_expired"


def wait(exploration_id: ExplorationId, token: str, deps: Deps) -> Exploration:
    """Store the token, then let the run go on if everything is decided by now.

    Whoever decides or cancels stores that first and looks for the token afterwards; this stores the
    token first and looks for decisions afterwards. So one of the two sees both.
    """
    deps.approvals.keep_token(exploration_id, token)
    exploration = deps.explorations.load(exploration_id)
    if exploration.status != "awaiting_approval":
        deps.wake(exploration)  # it got its slot, or ended, before the token was stored
    elif exploration.cancel_requested or all_decided(exploration_id, deps):
        go_on(exploration, deps)
    return exploration


def go_on(exploration: Exploration, deps: Deps) -> None:
    """Let a run continue after the last decision, or end after a request to cancel. May be repeated.

    To continue it needs a slot, and waits for one like any other. To end it needs none: it calls no model.
    """
    if exploration.cancel_requested or not deps.has_slots:
        deps.wake(exploration)
        return
    if waiting := mark_decided(exploration.id, deps):
        enqueue(waiting, deps)


def mark_decided(exploration_id: ExplorationId, deps: Deps) -> Exploration | None:
    """From now on the run waits for a slot. None if it goes on already."""
    now = deps.clock.now()

    def decided(current: Exploration) -> Exploration:
        if current.status != "awaiting_approval":
            raise ConflictError(f"Exploration {current.id} is {current.status}.")
        return current.replace(decided_at=current.run.decided_at or now)

    try:
        return deps.explorations.take_over(exploration_id, decided)
    except ConflictError:
        return None


def still_waits(exploration: Exploration, deps: Deps) -> bool:
    """Whether a run waits for decisions, or has them and waits for a slot."""
    if exploration.status != "awaiting_approval" or exploration.cancel_requested:
        return False
    decisions = {approval.decision for approval in deps.approvals.approvals(exploration.id)}
    return None in decisions or (deps.has_slots and "expire" not in decisions)


def all_decided(exploration_id: ExplorationId, deps: Deps) -> bool:
    return all(approval.decision for approval in deps.approvals.approvals(exploration_id))


def expire(exploration_id: ExplorationId, run: int, deps: Deps) -> None:
    """Close the requests that nobody decided on in time, so that the run can end.

    Of a decision made at this very moment and the expiry, the first one stored stands. If everything was
    decided in time, the run goes on; raises NoFreeSlotError while it has to wait for that.
    """
    exploration = deps.explorations.load(exploration_id)
    if exploration.run.number != run or exploration.status != "awaiting_approval":
        return
    expired = {"decision": "expire", "decided_at": deps.clock.now()}
    undecided = [a for a in deps.approvals.approvals(exploration_id) if a.decision is None]
    stored = [deps.approvals.decide(a.model_copy(update=expired)) for a in undecided]
    ends = exploration.cancel_requested or any(a.decision == "expire" for a in stored)
    if deps.has_slots and not ends and mark_decided(exploration_id, deps):
        take_slot(exploration_id, deps)


def has_expired(entries: Sequence[AnyEntry], run: int) -> bool:
    """Whether the run ends because nobody decided on one of its proposals in time."""
    last = entries[-1] if entries else None
    return (
        isinstance(last, ApprovalsDecided)
        and last.run == run
        and any(result.record.error_type == EXPIRED for result in last.results)
    )
