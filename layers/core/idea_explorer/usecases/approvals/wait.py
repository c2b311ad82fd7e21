"""Wait for a person's decisions: store the workflow's token, and end the wait, in time or not."""

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.usecases.deps import Deps


def wait(exploration_id: ExplorationId, token: str, deps: Deps) -> Exploration:
    """Store the token, then wake the run if everything is decided by now.

    Whoever decides or cancels stores that first and looks for the token afterwards; this stores the
    token first and looks for decisions afterwards. So one of the two sees both.
    """
    deps.approvals.keep_token(exploration_id, token)
    exploration = deps.explorations.load(exploration_id)
    waits = exploration.status == "awaiting_approval" and not exploration.cancel_requested
    if not waits or all_decided(exploration_id, deps):
        deps.wake(exploration)
    return exploration


def all_decided(exploration_id: ExplorationId, deps: Deps) -> bool:
    return all(approval.decision for approval in deps.approvals.approvals(exploration_id))


def expire(exploration_id: ExplorationId, run: int, deps: Deps) -> None:
    """Close the requests that nobody decided on in time, so that the run can end.

    Of a decision made at this very moment and the expiry, the first one stored stands.
    """
    exploration = deps.explorations.load(exploration_id)
    if exploration.run.number != run or exploration.status != "awaiting_approval":
        return
    for approval in deps.approvals.approvals(exploration_id):
        if approval.decision is None:
            expired = {"decision": "expire", "decided_at": deps.clock.now()}
            deps.approvals.decide(approval.model_copy(update=expired))
