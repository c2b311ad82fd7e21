"""Take a request and store it as a queued exploration."""

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import Explorations
from idea_explorer.usecases.find import find
from idea_explorer.usecases.terms import Terms


def submit(
    request: ExploreRequest,
    owner: str,
    explorations: Explorations,
    clock: Clock,
    *,
    terms: Terms,
    exploration_id: ExplorationId | None = None,
) -> Exploration:
    """Store the request; an id that is taken answers with what is stored under it, unchanged."""
    terms.check(request, owner, clock.now())
    conversation = _conversation(request, owner, explorations)
    now = clock.now()
    new = exploration_id or new_id(int(now.timestamp() * 1_000))
    exploration = Exploration(
        id=new,
        owner=owner,
        request=request,
        conversation_id=conversation or new,
        created_at=now,
        updated_at=now,
    )
    return exploration if explorations.create(exploration) else explorations.load(new)


def _conversation(
    request: ExploreRequest, owner: str, explorations: Explorations
) -> ExplorationId | None:
    """The conversation that `continue_from` goes on with; raises where there is nothing to go on from."""
    if request.continue_from is None:
        return None
    try:
        earlier = find(request.continue_from, owner, explorations)
    except MissingError as error:
        raise _cannot_continue("there is no such exploration") from error
    if earlier.request.toolset != request.toolset:
        raise _cannot_continue(f"it is an exploration of the toolset {earlier.request.toolset}")
    if not earlier.is_final:
        raise _cannot_continue(f"it is still {earlier.status}")
    if earlier.stats.steps == 0:
        raise _cannot_continue("it ended before its first step")
    return earlier.conversation_id


def _cannot_continue(why: str) -> InvalidRequestError:
    return InvalidRequestError(f"'continue_from': {why}", fields={"continue_from": why})
