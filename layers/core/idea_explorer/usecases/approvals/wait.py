"""A run that waits in the workflow: where its token is kept, and when the wait is over."""

from collections.abc import Callable

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.ports import Approvals, Explorations
from idea_explorer.usecases.approvals.apply import all_decided

DECIDED: JsonObject = {"status": "decided"}


def wait(
    exploration_id: ExplorationId,
    token: str,
    *,
    explorations: Explorations,
    approvals: Approvals,
    answer: Callable[[str, JsonObject], bool],
) -> Exploration:
    """Keep the token, which only now can be answered, and answer it where nothing is open any more.

    Whoever decides or cancels looks for the token after storing that, and here it is looked at after
    storing the token: one of the two sees both.
    """
    approvals.keep_token(exploration_id, token)
    exploration = explorations.load(exploration_id)
    waits = exploration.status == "awaiting_approval" and not exploration.cancel_requested
    if not waits or all_decided(approvals.approvals(exploration_id)):
        answer(token, DECIDED)
    return exploration
