"""What a request takes over from the exploration that it goes on from."""

from idea_explorer.domain import limits
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import Explorations
from idea_explorer.usecases.find import find


def inherited(request: ExploreRequest, parent: Exploration) -> ExploreRequest:
    """The request, asking about the same as before: the same repository, unless it names one, and the
    same files beside its own."""
    before = parent.request
    if request.spec.takes("repository") and request.repository is None:
        ref = request.ref or before.ref
        return request.model_copy(update={"repository": before.repository, "ref": ref})
    files = tuple(dict.fromkeys([*request.files, *before.files]))[: limits.MAX_FILES]
    return request.model_copy(update={"files": files})


def as_stored(request: ExploreRequest, owner: str, explorations: Explorations) -> ExploreRequest:
    """A request as submit has stored it."""
    if request.continue_from is None:
        return request
    try:
        return inherited(request, find(request.continue_from, owner, explorations))
    except MissingError:
        return request
