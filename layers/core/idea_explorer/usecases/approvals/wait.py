"""Store the token of a run that waits in the workflow, and end the wait where nothing is undecided."""

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.usecases.approvals.apply import all_decided
from idea_explorer.usecases.deps import Deps


def wait(exploration_id: ExplorationId, token: str, deps: Deps) -> Exploration:
    """Store the token, then wake the run if everything is decided by now.

    Whoever decides or cancels stores that first and looks for the token afterwards; this stores the
    token first and looks for decisions afterwards. So one of the two sees both.
    """
    deps.approvals.keep_token(exploration_id, token)
    exploration = deps.explorations.load(exploration_id)
    waits = exploration.status == "awaiting_approval" and not exploration.cancel_requested
    if not waits or all_decided(deps.approvals.approvals(exploration_id)):
        deps.wake(exploration)
    return exploration
