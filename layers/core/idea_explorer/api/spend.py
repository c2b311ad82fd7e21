"""What the caller has spent."""

from typing import Annotated

from pydantic import ConfigDict, Field

from idea_explorer.api.http import ApiCall, ApiResponse
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.spend_summary import MAX_DAYS
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.spend import summarize_spend


class SpendQuery(DomainModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 30


def show_spend(call: ApiCall, deps: Deps) -> ApiResponse:
    asked = call.parse_query(SpendQuery)
    return ApiResponse(200, summarize_spend(call.owner, asked.days, deps))
