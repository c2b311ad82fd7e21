"""The least that continuing a run can cost."""

from idea_explorer.agent.budget import OUR_WORDS_TOKENS, WRITE_TOKENS, Budget, estimate_tokens
from idea_explorer.agent.fresh_start import estimate_least_start
from idea_explorer.agent.requests import build_request, count_searches, limit_searches
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.transcript import ConversationRestarted, Opening
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelRequest


def price_next_step(state: State, budget: Budget) -> float | None:
    """Dollars for one more step with tools and the report after it; None if the price is not known."""
    request = build_request(state, writing=False)
    searches = count_searches(request.tools)
    return _with_our_words(
        budget, budget.minimum_usd(request, searches=searches, first=not state.gathered)
    )


def price_report(state: State, budget: Budget) -> float | None:
    """Dollars for a report, from the conversation or from a minimum of its evidence."""
    whole = budget.minimum_usd(build_request(state, writing=True, tools_off=True), searches=0)
    if whole is None or budget.price is None or not state.answers:
        return _with_our_words(budget, whole)

    def tokens_with(fresh: ConversationRestarted) -> int:
        return estimate_tokens(build_request(State([*state.entries, fresh]), writing=True))

    read = estimate_least_start(state, tokens_with)
    anew = budget.price.cost(Usage(cache_write_tokens=read, output_tokens=limits.MIN_OUTPUT_TOKENS))
    return _with_our_words(budget, min(whole, anew))


def _with_our_words(budget: Budget, usd: float | None) -> float | None:
    if usd is None or budget.price is None:
        return None
    return usd + budget.price.cost(Usage(cache_write_tokens=OUR_WORDS_TOKENS))


def estimate_first_step(system: str, tools_tokens: int, budget: Budget) -> Usage:
    """About the most that a first call with one search and a short report after it use."""
    request = ModelRequest(
        model_id="",
        system=[{"type": "text", "text": system}],
        tools=[],
        messages=[],
        max_tokens=limits.MAX_OUTPUT_TOKENS,
        writing=False,
    )
    read_twice = Usage(cache_write_tokens=2 * tools_tokens)
    return Usage.total([*budget.minimum_usage(request, searches=1, first=True), read_twice])


def fit_searches(opening: Opening, budget: Budget) -> Opening:
    """Allow as many searches per call as the budget covers at worst, but at least one.

    Chosen once, because changing the tools of a conversation would invalidate its cache. Fewer searches
    and an ordinary report are better than more searches and a short one.
    """
    if not count_searches(opening.tools):
        return opening
    for first in (False, True):
        for count in range(limits.MAX_SEARCHES_PER_CALL, 0, -1):
            fit = opening.model_copy(update={"tools": limit_searches(opening.tools, count)})
            request = build_request(State([fit]), writing=False)
            allowance = budget.allow(request, (), searches=count, first=first)
            if allowance.max_tokens >= WRITE_TOKENS:
                return fit
    return opening.model_copy(update={"tools": limit_searches(opening.tools, 1)})
