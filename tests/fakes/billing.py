"""What the test server of Anthropic billed, in dollars."""

from collections.abc import Iterable, Mapping

from idea_explorer.domain.usage import Usage
from idea_explorer.settings import PRICES
from tests.fakes.anthropic_turns import Usage as Billed


def cost_of(bills: Mapping[str, Iterable[Billed]]) -> float:
    """By model, what each of its answers used."""
    return sum(
        PRICES[model].exact_cost(usage_of(each)) for model, used in bills.items() for each in used
    )


def usage_of(billed: Billed) -> Usage:
    return Usage(
        input_tokens=billed.input_tokens,
        output_tokens=billed.output_tokens,
        cache_write_tokens=billed.cache_creation_input_tokens,
        cache_read_tokens=billed.cache_read_input_tokens,
        searches=billed.web_search_requests,
    )
