"""What prompt caching saves: input tokens as billed, ours against the same requests without a cache.

    python -m tests.performance.caching

The engine and the real SDK run against a server that counts and caches as the API does: prefixes by
breakpoint, a look-back of twenty blocks, at least 512 tokens, messages lost with another tool choice or
effort. What a search finds is input as soon as it is there, with and without a cache: only what requests
send again is compared.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from idea_explorer.adapters.claude import Claude
from idea_explorer.domain.usage import Usage
from idea_explorer.settings import PRICES
from tests.fakes.anthropic_counting import CHARACTERS_PER_TOKEN, count_input
from tests.fakes.anthropic_scripts import Model
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import (
    Turn,
    answer,
    citation,
    search_result,
    text,
    thinking,
    tool_use,
    web_search,
)
from tests.fakes.anthropic_wire import Block, JsonObject
from tests.fakes.engine import Bench

PRICE = PRICES["claude-sonnet-5-5"]
REPORT = "# Tea\n\n" + "A paragraph about tea rooms. " * 200
SEARCHES, RESULTS, TOKENS_OF_RESULT, SENTENCES = 2, 5, 800, 12  # of a step that searches


@dataclass(frozen=True)
class Bill:
    """The input of one exploration, in tokens and in dollars."""

    sent: int
    billed: Usage

    @property
    def with_cache(self) -> float:
        return PRICE.cost(self.billed)

    @property
    def without(self) -> float:
        return PRICE.cost(Usage(input_tokens=self.sent))

    @property
    def ratio(self) -> float:
        return self.with_cache / self.without


def measure_reading(steps: int, tokens_read: dict[int, int], *, calls: int = 1) -> Bill:
    """An exploration of so many steps. `tokens_read` says how much each of them reads."""
    sizes = {n: tokens_read.get(n, 200) * CHARACTERS_PER_TOKEN // calls for n in range(1, steps)}
    documents = {
        f"{step}-{n}.md": f"{step}.{n} " + "tea " * (size // 4)
        for step, size in sizes.items()
        for n in range(calls)
    }

    def model(request: JsonObject, index: int) -> Turn:
        step = index + 1
        if step == steps:
            return answer(thinking("", tokens=400), text(REPORT))
        paths = [f"{step}-{n}.md" for n in range(calls)]
        reads = [tool_use("read_research", {"path": path}) for path in paths]
        return answer(thinking("", tokens=200), *reads)

    return _measure(steps, model, documents)


def measure_searching(steps: int, *, paused: frozenset[int] = frozenset()) -> Bill:
    """An exploration that searches in each step and cites what it finds. Some answers are paused."""

    def model(request: JsonObject, index: int) -> Turn:
        step = index + 1
        if step == steps:
            return answer(thinking("", tokens=400), text(REPORT))
        found = [block for n in range(SEARCHES) for block in _cited_search(f"{step}-{n}")]
        if step in paused:
            return answer(thinking("", tokens=200), *found, stop_reason="pause_turn")
        read = tool_use("read_research", {"path": f"{step}.md"})
        return answer(thinking("", tokens=200), *found, read)

    return _measure(steps, model, {f"{n}.md": f"{n} " + "tea " * 200 for n in range(1, steps)})


def _cited_search(name: str) -> list[Block]:
    size = TOKENS_OF_RESULT * CHARACTERS_PER_TOKEN
    pages = [f"https://{name}-{n}.example/" for n in range(RESULTS)]
    blocks = [*web_search(f"tea {name}", [search_result(url, "Tea", size=size) for url in pages])]
    for n in range(SENTENCES):
        source = citation(pages[n % RESULTS], "Tea", "tea " * 30)
        blocks += [text("And "), text(f"tea number {n} is sold. ", citations=[source])]
    return blocks


def _measure(steps: int, model: Model, documents: dict[str, str]) -> Bill:
    with tempfile.TemporaryDirectory() as folder, FakeAnthropic(model, count=True) as server:
        bench = Bench(Path(folder), Claude.with_key("key", server.url))
        for path, words in documents.items():
            bench.write(path, words)
        done = bench.explore(max_steps=steps, deadline_seconds=840)
        assert (done.run.outcome, server.rejections, server.violations) == ("completed", [], [])
        assert done.run.stats.steps == steps
        sent = sum(count_input(request.body) for request in server.requests)
    used = done.run.stats.usage
    found = used.all_input_tokens - sent  # by searches, while the model answered
    return Bill(
        sent,
        Usage(
            input_tokens=used.input_tokens - found,
            cache_write_tokens=used.cache_write_tokens,
            cache_read_tokens=used.cache_read_tokens,
        ),
    )


READING = "five steps, 25,000 tokens read in the first two"
SEARCHING = "five steps of cited searches"
PAUSED = "the same, two of them paused"
CASES = {
    READING: partial(measure_reading, 5, {1: 12_500, 2: 12_500}),
    "five steps of thirty calls each": partial(
        measure_reading, 5, {1: 12_500, 2: 12_500}, calls=30
    ),
    "twenty steps, 2,000 tokens read in each": partial(
        measure_reading, 20, dict.fromkeys(range(1, 20), 2_000)
    ),
    SEARCHING: partial(measure_searching, 5),
    PAUSED: partial(measure_searching, 5, paused=frozenset({2, 3})),
}


def main() -> None:
    print(f"{'':50} {'sent':>9} {'plain':>7} {'written':>8} {'read':>8} {'ratio':>6}")
    for name, measure in CASES.items():
        bill = measure()
        billed = bill.billed
        print(
            f"{name:50} {bill.sent:>9,} {billed.input_tokens:>7,} {billed.cache_write_tokens:>8,}"
            f" {billed.cache_read_tokens:>8,} {bill.ratio:>6.2f}"
        )
    print("ratio: dollars for input with caching, of what the same requests cost without")


if __name__ == "__main__":
    main()
