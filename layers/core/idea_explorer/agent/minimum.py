"""The least that a run needs to find anything out."""

from idea_explorer.agent.budget import (
    FINDINGS_TOKENS,
    OUR_WORDS_TOKENS,
    VERIFICATION_USD,
    Budget,
    report_tokens,
)
from idea_explorer.agent.prompts import system_prompt
from idea_explorer.domain import limits
from idea_explorer.domain.depths import Depth
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.usage import Price, Usage
from idea_explorer.ports import ModelRequest

TOOLS_TOKENS = 4_000  # what the definitions of the largest toolset come to


def minimum_to_research(request: ExploreRequest, search_tokens: int) -> list[Usage]:
    """About the most that the shortest run uses which looks anything up: a first call with one search
    and a short report after it. A depth that plans pays for its plan before that; one with branches for
    such a run of each, and then for its report and the correction of it."""
    budget = Budget(search_tokens=search_tokens)
    asked = _opening_request(request)
    tools = Usage(cache_write_tokens=TOOLS_TOKENS)
    searches = 1 if request.spec.searches_web else 0
    call, report = budget.minimum_usage(asked, searches=searches, first=True)
    shortest = [call + tools, report + tools]
    depth = request.depth_limits
    if depth is None or not depth.plans:
        return shortest
    plan, _ = budget.minimum_usage(asked, searches=0, first=True)
    planned = tools + Usage(cache_write_tokens=limits.MIN_OUTPUT_TOKENS)
    if depth.branches:
        read = planned + Usage(cache_write_tokens=plan.cache_write_tokens)
        return [plan + tools, *shortest * depth.branches, *_reports(depth, read)]
    call, report = budget.minimum_usage(asked, searches=searches)
    return [plan + tools, call + planned, report + planned]


def minimum_usd(request: ExploreRequest, search_tokens: int, price: Price) -> float:
    """What that costs. A run with branches also holds back what the verification of its report may cost."""
    depth = request.depth_limits
    held = VERIFICATION_USD if depth and depth.branches else 0.0
    return price.total(minimum_to_research(request, search_tokens)) + held


def _reports(depth: Depth, read: Usage) -> list[Usage]:
    """The report from the findings of all branches, and its correction."""
    written = report_tokens(depth.words[1])
    found = Usage(cache_write_tokens=depth.branches * FINDINGS_TOKENS + OUR_WORDS_TOKENS)
    again = Usage(cache_write_tokens=written + OUR_WORDS_TOKENS)
    report = read + found + Usage(output_tokens=written)
    return [report, report + again]


def _opening_request(request: ExploreRequest) -> ModelRequest:
    given = "\n".join(text for text in (request.idea, request.context) if text)
    return ModelRequest(
        model_id="",
        system=[{"type": "text", "text": system_prompt(request)}],
        tools=[],
        messages=[{"role": "user", "content": given}],
        max_tokens=limits.MAX_OUTPUT_TOKENS,
        writing=False,
    )
