"""What it costs at least to go on from where a run has ended."""

from idea_explorer.agent.budget import OUR_WORDS_TOKENS, Budget, estimated_tokens
from idea_explorer.agent.fresh_start import least_start_tokens
from idea_explorer.agent.requests import request_of
from idea_explorer.agent.searches import searches_in
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.transcript import Restarted
from idea_explorer.domain.usage import Usage


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

    def tokens_with(fresh: Restarted) -> int:
        return estimated_tokens(request_of(State([*state.entries, fresh]), writing=True))

    read = least_start_tokens(state, tokens_with)
    anew = budget.price.cost(Usage(cache_write_tokens=read, output_tokens=limits.MIN_OUTPUT_TOKENS))
    return _with_our_words(budget, min(whole, anew))


def _with_our_words(budget: Budget, usd: float | None) -> float | None:
    if usd is None or budget.price is None:
        return None
    return usd + budget.price.cost(Usage(cache_write_tokens=OUR_WORDS_TOKENS))
