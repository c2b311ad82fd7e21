"""The budget: what a call may cost at most is reserved before it is made."""

from dataclasses import dataclass

from idea_explorer.domain import limits
from idea_explorer.domain.json import JsonObject, canonical
from idea_explorer.domain.usage import Price, Usage
from idea_explorer.ports import ModelRequest

BYTES_PER_TOKEN = (
    2.5  # below what any of the models needs for text or JSON, so the count is an upper bound
)
WRITE_TOKENS = 4_096  # output kept back for the report while gathering goes on


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the next call may use. `fits` is False where not even a minimal answer is affordable."""

    max_tokens: int
    fits: bool
    reserved: Usage


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit in dollars, or in tokens where the model's price is not known; None is no limit."""

    price: Price | None = None
    max_cost_usd: float | None = None
    max_total_tokens: int | None = None
    search_tokens: int = 10_000

    def allow(self, request: ModelRequest, spent: Usage, *, searches: int) -> Allowance:
        """Lower `max_tokens` until the worst case of the call fits what is left.

        A call with tools on must leave enough to write the report afterwards; the call that writes
        may take everything.
        """
        history = estimated_tokens(request)
        found = searches * self.search_tokens
        worst = Usage(cache_write_tokens=history, input_tokens=found, searches=searches)
        after = Usage()
        if not request.tools_off:
            # a gathering answer becomes input of the call that writes
            grown = history + found + limits.MIN_OUTPUT_TOKENS
            after = Usage(cache_write_tokens=grown, output_tokens=WRITE_TOKENS)
        room = self._output_room(spent + worst + after)
        max_tokens = request.max_tokens if room is None else min(request.max_tokens, room)
        reserved = worst + Usage(output_tokens=max(max_tokens, 0))
        floor = min(limits.MIN_OUTPUT_TOKENS, request.max_tokens)
        return Allowance(max_tokens=max_tokens, fits=max_tokens >= floor, reserved=reserved)

    def least(self, request: ModelRequest) -> float | None:
        """The smallest budget with which this exploration could write anything at all."""
        if self.price is None:
            return None
        history = estimated_tokens(request)
        return self.price.cost(
            Usage(cache_write_tokens=history, output_tokens=limits.MIN_OUTPUT_TOKENS)
        )

    def _output_room(self, committed: Usage) -> int | None:
        if self.price is not None and self.max_cost_usd is not None:
            left = self.max_cost_usd - self.price.cost(committed)
            if not self.price.output:
                return None if left >= 0 else 0
            return int(left * 1_000_000 / self.price.output)
        if self.price is None and self.max_total_tokens is not None:
            return self.max_total_tokens - committed.total_tokens
        return None


def estimated_tokens(request: ModelRequest) -> int:
    """An upper bound of the tokens that a request sends."""
    sent: JsonObject = {
        "system": list(request.system),
        "tools": list(request.tools),
        "messages": list(request.messages),
    }
    return int(len(canonical(sent).encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)
