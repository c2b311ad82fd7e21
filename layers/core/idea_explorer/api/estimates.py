"""What an exploration would cost, before it is started."""

from idea_explorer.api.http import ApiCall, ApiResponse
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.estimate import estimate


def estimate_exploration(call: ApiCall, deps: Deps) -> ApiResponse:
    return ApiResponse(200, estimate(call.parse_body(ExploreRequest), call.owner, deps))
