"""Take a request and store it as a queued exploration."""

from idea_explorer.agent.prompts import system_prompt
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import Explorations


def submit(
    request: ExploreRequest,
    owner: str,
    explorations: Explorations,
    clock: Clock,
    *,
    min_deadline_seconds: int,
    exploration_id: ExplorationId | None = None,
) -> Exploration:
    """Store the request; an id that is taken answers with what is stored under it, unchanged."""
    check(request, min_deadline_seconds)
    now = clock.now()
    new = exploration_id or new_id(int(now.timestamp() * 1_000))
    exploration = Exploration(
        id=new, owner=owner, request=request, conversation_id=new, created_at=now, updated_at=now
    )
    return exploration if explorations.create(exploration) else explorations.load(new)


def check(request: ExploreRequest, min_deadline_seconds: int) -> None:
    """What the request's own types cannot know: settings and prompts of this deployment."""
    if request.deadline_seconds < min_deadline_seconds:
        raise InvalidRequestError(
            f"'deadline_seconds': must be at least {min_deadline_seconds}",
            fields={"deadline_seconds": f"must be at least {min_deadline_seconds}"},
        )
    system_prompt(request.toolset, request.mode)
