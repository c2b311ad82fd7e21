"""Tokens and their cost. If a price is not known, neither is the cost."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from idea_explorer.domain.base import DomainModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Billed tokens and searches, as the Messages API counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    searches: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            searches=self.searches + other.searches,
        )

    @property
    def all_input_tokens(self) -> int:
        return self.input_tokens + self.cache_write_tokens + self.cache_read_tokens

    @property
    def total_tokens(self) -> int:
        return self.all_input_tokens + self.output_tokens

    @staticmethod
    def total(parts: "Iterable[Usage]") -> "Usage":
        listed = list(parts)
        return Usage(
            input_tokens=sum([part.input_tokens for part in listed]),
            output_tokens=sum([part.output_tokens for part in listed]),
            cache_write_tokens=sum([part.cache_write_tokens for part in listed]),
            cache_read_tokens=sum([part.cache_read_tokens for part in listed]),
            searches=sum([part.searches for part in listed]),
        )


class ModelUsage(NamedTuple):
    """What a call of a model used."""

    model_id: str
    usage: Usage


class Price(DomainModel, frozen=True):
    """US dollars per million tokens, and per search. Some models cost more with long prompts."""

    input: float
    output: float
    cache_write: float
    cache_read: float
    search: float = 0.01
    long_prompt_tokens: int | None = None
    long_prompt_factor: float = 1.0

    def factor(self, prompt_tokens: int) -> float:
        is_long = self.long_prompt_tokens is not None and prompt_tokens > self.long_prompt_tokens
        return self.long_prompt_factor if is_long else 1.0

    def cost(self, usage: Usage) -> float:
        return self.total([usage])

    def total(self, calls: Iterable[Usage]) -> float:
        return round(math.fsum(self.exact_cost(usage) for usage in calls), 6)

    def exact_cost(self, usage: Usage) -> float:
        """Not rounded, for sums over several models."""
        per_million = self.factor(usage.all_input_tokens) * (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_write_tokens * self.cache_write
            + usage.cache_read_tokens * self.cache_read
        )
        return per_million / 1_000_000 + usage.searches * self.search


def limit_hold(wanted: float, limit: float, taken: Iterable[float]) -> float:
    """How many of the dollars wanted can be reserved, given what others have taken of a limit."""
    return max(0.0, min(wanted, limit - math.fsum(taken)))


def compute_cost(calls: Iterable[ModelUsage], prices: Mapping[str, Price]) -> float | None:
    """The cost in dollars, or None if the price of one of the models is not known."""
    parts: list[float] = []
    for call in calls:
        if (price := prices.get(call.model_id)) is None:
            return None
        parts.append(price.exact_cost(call.usage))
    return round(math.fsum(parts), 6)
