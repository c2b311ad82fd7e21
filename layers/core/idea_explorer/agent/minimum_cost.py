"""What it costs at least to go on from where a run has ended."""

from idea_explorer.agent.budget import OUR_WORDS_TOKENS, WRITE_TOKENS, Budget, estimated_tokens
from idea_explorer.agent.fresh_start import least_start_tokens
from idea_explorer.agent.requests import request_of
from idea_explorer.agent.searches import searches_in, with_searches
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.transcript import ConversationRestarted, Opening
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelRequest


def least_to_look_further(state: State, budget: Budget) -> float | None:
    """Dollars for one more step with tools, and for the report after it; None without a price."""
    request = request_of(state, writing=False)
    searches = searches_in(request.tools)
    return _with_our_words(
        budget, budget.least_usd(request, searches=searches, first=not state.gathered)
    )


def least_to_write(state: State, budget: Budget) -> float | None:
    """Dollars for a report, from the conversation or from the least of its evidence."""
    whole = budget.least_usd(request_of(state, writing=True, tools_off=True), searches=0)
    if whole is None or budget.price is None or not state.answers:
        return _with_our_words(budget, whole)

    def tokens_with(fresh: ConversationRestarted) -> int:
        return estimated_tokens(request_of(State([*state.entries, fresh]), writing=True))

    read = least_start_tokens(state, tokens_with)
    anew = budget.price.cost(Usage(cache_write_tokens=read, output_tokens=limits.MIN_OUTPUT_TOKENS))
    return _with_our_words(budget, min(whole, anew))


def _with_our_words(budget: Budget, usd: float | None) -> float | None:
    if usd is None or budget.price is None:
        return None
    return usd + budget.price.cost(Usage(cache_write_tokens=OUR_WORDS_TOKENS))


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


def fit_searches(opening: Opening, budget: Budget) -> Opening:
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
