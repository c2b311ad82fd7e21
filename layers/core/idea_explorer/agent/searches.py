"""How many searches and pages the calls of a conversation may make, so that they fit its budget."""

from collections.abc import Sequence
from dataclasses import replace

from idea_explorer.agent.budget import WRITE_TOKENS, Allowance, Budget
from idea_explorer.agent.requests import (
    allow_request,
    build_request,
    count_page_tokens,
    count_pages,
    count_searches,
)
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.json import Block
from idea_explorer.domain.server_tools import is_fetch, is_search
from idea_explorer.domain.transcript import Opening
from idea_explorer.ports import ModelRequest


def fit_searches(opening: Opening, budget: Budget, most: int) -> Opening:
    """Allow up to `most` searches per call, and pages, as the budget covers at worst, but at least one
    search. Chosen once, because changing the tools of a conversation would invalidate its cache. Fewer
    searches and an ordinary report are better than more searches and a short one."""
    if not count_searches(opening.tools):
        return opening
    for first in (False, True):
        for count, pages in _shares(most, count_pages(opening.tools)):
            tools = limit_searches(opening.tools, count, pages)
            fit = replace(opening, tools=tools)
            request = build_request(State([fit]), writing=False)
            read = count_page_tokens(tools)
            allowance = budget.allow(request, (), searches=count, page_tokens=read, first=first)
            if allowance.max_tokens >= WRITE_TOKENS:
                return fit
    return replace(opening, tools=limit_searches(opening.tools, 1, 0))


def next_gathering(
    state: State, budget: Budget, max_tokens: int = limits.MAX_OUTPUT_TOKENS
) -> tuple[ModelRequest, Allowance]:
    """The next request that gathers, and what it may use. While nothing was answered, a call that failed or
    was killed may have used up what the next one needs for all its searches: then it may make fewer. There
    is no cache yet that other tools would invalidate."""
    request = build_request(state, writing=False, max_tokens=max_tokens)
    allowance = allow_request(request, state, budget)
    if allowance.fits or state.answers:
        return request, allowance
    for count, pages in _shares(count_searches(request.tools), count_pages(request.tools)):
        tools = limit_searches(request.tools, count, pages)
        fewer = replace(request, tools=tools, fixed_size=None)
        allowed = allow_request(fewer, state, budget)
        if allowed.fits:
            return fewer, allowed
    return request, allowance


def limit_searches(tools: Sequence[Block], count: int, pages: int | None = None) -> list[Block]:
    """The tools with at most `count` searches, and at most `pages` pages unless it is None. Without any
    pages there is no web_fetch, because the API takes no limit of zero."""
    limited: list[Block] = []
    for tool in tools:
        if is_search(tool):
            limited.append({**tool, "max_uses": count})
        elif not is_fetch(tool) or pages is None:
            limited.append(tool)
        elif pages:
            limited.append({**tool, "max_uses": pages})
    return limited


def _shares(searches: int, pages: int) -> list[tuple[int, int]]:
    """How many searches and pages to try for, the most first. They become fewer together; the last page
    goes before the last search, which finds more."""
    both = [(searches, pages), *((n, min(n, pages)) for n in range(searches, 0, -1)), (1, 0)]
    return list(dict.fromkeys(both))
