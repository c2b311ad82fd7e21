"""What prompt caching saves: input tokens as billed, ours against the same requests without a cache.

    python -m tests.performance.caching

The engine and the real SDK run against a server that counts and caches as the API does: prefixes by
breakpoint, a look-back of twenty blocks, at least 512 tokens, messages lost with another tool choice or
effort.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from idea_explorer.adapters.claude import Claude
from idea_explorer.domain.usage import Usage
from idea_explorer.settings import PRICES
from tests.fakes.anthropic_counting import CHARACTERS_PER_TOKEN, count_input
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import Turn, answer, text, thinking, tool_use
from tests.fakes.anthropic_wire import JsonObject
from tests.fakes.engine import Bench

PRICE = PRICES["claude-sonnet-5-5"]
REPORT = "# Tea\n\n" + "A paragraph about tea rooms. " * 200


@dataclass(frozen=True)
class Bill:
    """The input of one exploration, in tokens and in dollars."""

    steps: int
    sent: int
    billed: Usage

    @property
    def with_cache(self) -> float:
        return PRICE.cost(self.billed.model_copy(update={"output_tokens": 0}))

    @property
    def without(self) -> float:
        return PRICE.cost(Usage(input_tokens=self.sent))

    @property
    def ratio(self) -> float:
        return self.with_cache / self.without


def measure(steps: int, tokens_read: dict[int, int], *, calls: int = 1) -> Bill:
    """An exploration of so many steps. `tokens_read` says how much each of them reads."""
    sizes = {n: tokens_read.get(n, 200) * CHARACTERS_PER_TOKEN // calls for n in range(1, steps)}

    def model(request: JsonObject, index: int) -> Turn:
        step = index + 1
        if step == steps:
            return answer(thinking("", tokens=400), text(REPORT))
        paths = [f"{step}-{n}.md" for n in range(calls)]
        reads = [tool_use("read_research", {"path": path}) for path in paths]
        return answer(thinking("", tokens=200), *reads)

    with tempfile.TemporaryDirectory() as folder, FakeAnthropic(model, count=True) as server:
        bench = Bench(Path(folder), Claude.with_key("key", server.url))
        for step, size in sizes.items():
            for n in range(calls):
                bench.write(f"{step}-{n}.md", f"{step}.{n} " + "tea " * (size // 4))
        done = bench.explore(max_steps=steps, deadline_seconds=840)
        assert (done.run.outcome, server.rejections, server.violations) == ("completed", [], [])
        assert done.run.stats.steps == steps
        sent = sum(count_input(request.body) for request in server.requests)
        return Bill(steps, sent, done.run.stats.usage)


CASES = {
    "five steps, 25,000 tokens read in the first two": (5, {1: 12_500, 2: 12_500}, 1),
    "five steps of thirty calls each": (5, {1: 12_500, 2: 12_500}, 30),
    "twenty steps, 2,000 tokens read in each": (20, dict.fromkeys(range(1, 20), 2_000), 1),
}


def main() -> None:
    print(f"{'':50} {'sent':>9} {'plain':>7} {'written':>8} {'read':>8} {'ratio':>6}")
    for name, (steps, tokens_read, calls) in CASES.items():
        bill = measure(steps, tokens_read, calls=calls)
        billed = bill.billed
        print(
            f"{name:50} {bill.sent:>9,} {billed.input_tokens:>7,} {billed.cache_write_tokens:>8,}"
            f" {billed.cache_read_tokens:>8,} {bill.ratio:>6.2f}"
        )
    print("ratio: dollars for input with caching, of what the same requests cost without")


if __name__ == "__main__":
    main()
