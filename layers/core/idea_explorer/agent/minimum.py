"""The least that a run needs to find anything out."""

from idea_explorer.agent.budget import WRITE_TOKENS, Budget
from idea_explorer.agent.prompts import system_prompt
from idea_explorer.domain import limits
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelRequest

TOOLS_TOKENS = 4_000  # what the definitions of the largest toolset come to
FINDINGS_TOKENS = limits.MIN_OUTPUT_TOKENS  # what a branch hands to the report


def minimum_to_research(request: ExploreRequest, search_tokens: int) -> list[Usage]:
    """About the most that the shortest run uses which looks anything up: a first call with one search
    and a short report after it; before them the plan, where the depth asks for one; and one such call for
    each branch, where it has branches."""
    budget = Budget(search_tokens=search_tokens)
    asked = _opening_request(request)
    tools = Usage(cache_write_tokens=TOOLS_TOKENS)
    searches = 1 if request.spec.searches_web else 0
    depth = request.depth_limits
    lean = not (depth and depth.plans)
    call, report = budget.minimum_usage(asked, searches=searches, first=lean)
    if depth is None or not depth.plans:
        return [call + tools, report + tools]
    (plan, _) = budget.minimum_usage(asked, searches=0, first=True)
    if not depth.branches:
        read_plan = Usage(cache_write_tokens=limits.MIN_OUTPUT_TOKENS)
        return [plan + tools, call + tools + read_plan, report + tools + read_plan]
    branch = budget.minimum_usage(asked, searches=searches, first=True)
    findings = Usage(
        cache_write_tokens=depth.branches * FINDINGS_TOKENS,
        output_tokens=WRITE_TOKENS - limits.MIN_OUTPUT_TOKENS,
    )
    written = plan + tools + findings
    return [
        plan + tools,
        *(part + tools for _ in range(depth.branches) for part in branch),
        written,
        written,  # the correction
    ]


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
