"""How much the first call may look up: as much as the budget covers, so that a small one buys research."""

from idea_explorer.agent.budget import WRITE_TOKENS, Budget
from idea_explorer.agent.requests import request_of
from idea_explorer.agent.searches import searches_in, with_searches
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.transcript import Opening
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelRequest


def least_to_research(system: str, tools_tokens: int, budget: Budget) -> Usage:
    """About what a first call with one search takes at worst, and a short report after it."""
    request = ModelRequest(
        model_id="",
        system=[{"type": "text", "text": system}],
        tools=[],
        messages=[],
        max_tokens=limits.MAX_OUTPUT_TOKENS,
        writing=False,
    )
    read_twice = Usage(cache_write_tokens=2 * tools_tokens)
    return Usage.total([*budget.least(request, searches=1, first=True), read_twice])


def fitted(opening: Opening, budget: Budget) -> Opening:
    """The opening with as many searches a call as can be paid for at worst, and at least with one.

    It is chosen once: the tools of a conversation never change, because that would spoil its cache.
    Fewer searches that leave the price of an ordinary report come before more that leave a short one.
    """
    if not searches_in(opening.tools):
        return opening
    for first in (False, True):
        for count in range(limits.MAX_SEARCHES_PER_CALL, 0, -1):
            fit = opening.model_copy(update={"tools": with_searches(opening.tools, count)})
            request = request_of(State([fit]), writing=False)
            allowance = budget.allow(request, (), searches=count, first=first)
            if allowance.max_tokens >= WRITE_TOKENS:
                return fit
    return opening.model_copy(update={"tools": with_searches(opening.tools, 1)})
