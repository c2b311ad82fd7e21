"""What dynamic filtering saves: input tokens as billed, with and without it.

    python -m tests.performance.filtering

The engine and the real SDK run against a server that counts as the documentation says: results of direct
calls are input, when they come and again in each later request; of a search from code only what the code
prints is. How much of its results a model keeps depends on the question, so there is a line for each share.
Anthropic measured 24 % fewer input tokens on its own benchmarks.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from idea_explorer.adapters.claude import Claude
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.domain.usage import Usage
from idea_explorer.settings import PRICES
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.research import research_tools
from tests.fakes.anthropic_counting import CHARACTERS_PER_TOKEN
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import (
    Turn,
    answer,
    filtered_search,
    search_result,
    text,
    thinking,
    tool_use,
)
from tests.fakes.anthropic_turns import (
    web_search as direct_search,
)
from tests.fakes.anthropic_wire import Block, JsonObject
from tests.fakes.engine import Bench

PRICE = PRICES["claude-sonnet-5-5"]
VERSION = "web_search_20260318"
STEPS, SEARCHES, RESULTS, TOKENS_OF_RESULT = 5, 3, 10, 800
CODE_TOKENS = 120  # of the program that the model writes for each search
SHARES = (0.1, 0.25, 0.5, 0.75)


def measure(kept: float | None) -> Usage:
    """The bill of an exploration that keeps this share of what it finds; None reads all of it directly."""

    def search(step: int, number: int) -> tuple[Block, ...]:
        size = TOKENS_OF_RESULT * CHARACTERS_PER_TOKEN
        pages = [
            search_result(f"https://{step}-{number}-{n}.example/", "Tea", size=size)
            for n in range(RESULTS)
        ]
        if kept is None:
            return direct_search(f"tea {step} {number}", pages)
        printed = "word" * int(kept * RESULTS * TOKENS_OF_RESULT)
        call_id = f"srvtoolu_{step}_{number}"
        return filtered_search(
            "x" * CODE_TOKENS * CHARACTERS_PER_TOKEN, pages, printed, call_id=call_id
        )

    def model(request: JsonObject, index: int) -> Turn:
        step = index + 1
        if step == STEPS:
            return answer(text("# Tea\n\n" + "A paragraph about tea rooms. " * 200))
        found = [block for n in range(SEARCHES) for block in search(step, n)]
        read = tool_use("read_research", {"path": f"{step}.md"})
        return answer(thinking("", tokens=200), *found, read)

    with tempfile.TemporaryDirectory() as folder, FakeAnthropic(model, count=True) as server:
        filters = kept is not None
        tools = research_tools(
            Folder(Path(folder)), VERSION if filters else DIRECT_VERSION, dynamic_filtering=filters
        )
        bench = Bench(Path(folder), Claude.with_key("key", server.url), toolset=tools)
        for step in range(1, STEPS):
            bench.write(f"{step}.md", f"# {step}\n\n" + "tea " * 200)
        done = bench.explore(max_steps=STEPS, deadline_seconds=840)
        assert (done.run.outcome, server.rejections, server.violations) == ("completed", [], [])
        return done.run.stats.usage


def main() -> None:
    plain = measure(None)
    print(
        f"{'share of results that is kept':32} {'input':>9} {'output':>7} {'tokens':>7} {'dollars':>8}"
    )
    print(f"{'all, read directly':32} {plain.all_input_tokens:>9,} {plain.output_tokens:>7,}")
    for share in SHARES:
        bill = measure(share)
        tokens = bill.all_input_tokens / plain.all_input_tokens
        dollars = PRICE.cost(bill) / PRICE.cost(plain)
        print(
            f"{share:<32.0%} {bill.all_input_tokens:>9,} {bill.output_tokens:>7,}"
            f" {tokens:>7.2f} {dollars:>8.2f}"
        )
    print("tokens and dollars: of what the same exploration takes without filtering")


if __name__ == "__main__":
    main()
