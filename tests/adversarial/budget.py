"""Models that spend as much as they can, against small budgets: does the price stay known?

    python -m tests.adversarial.budget [--runs 1000]

Prints a table. A run may pass its budget by what its last searches read beyond the allowance, and by
nothing else.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from idea_explorer.agent.budget import Budget
from idea_explorer.agent.requests import count_searches
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import NetworkError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import Block, dump_canonical
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher
from idea_explorer.settings import MODELS, PRICES
from tests.fakes.engine import Bench

PRICE = PRICES[MODELS["sonnet"]]
ALLOWANCE = Budget().search_tokens
CHARS_PER_TOKEN = 3.5  # the greediest tokenizer of ordinary text

Behaviour = Callable[["Spender", ModelRequest], ModelAnswer]


@dataclass
class Spender:
    """Bills for everything it reads and writes, and keeps the true account."""

    behave: Behaviour
    rng: random.Random
    billed: Usage = field(default_factory=Usage)
    beyond_allowance: float = 0.0
    calls: int = 0
    watcher: Watcher | None = None

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        self.calls += 1
        self.watcher = watcher
        watcher.usage(self.read(request))
        answer = self.behave(self, request)
        for block in answer.content:
            watcher.tick()
            if block.get("type") == "text":
                watcher.text(str(block["text"]))
        self.billed += answer.usage
        watcher.usage(answer.usage)
        return answer

    def read(self, request: ModelRequest) -> Usage:
        parts = (*request.system, *request.tools, *request.messages)
        size = sum(len(dump_canonical(part)) for part in parts)
        return Usage(cache_write_tokens=int(size / CHARS_PER_TOKEN))

    def says(self, request: ModelRequest, blocks: list[Block], output: int) -> ModelAnswer:
        """An answer billed in full: what it read, and at most what it was allowed to write."""
        usage = self.read(request)
        searches = sum(1 for block in blocks if block.get("type") == "server_tool_use")
        tokens = [self.rng.randint(2_000, 25_000) for _ in range(searches)]
        beyond = max(0, sum(tokens) - searches * ALLOWANCE)
        self.beyond_allowance = PRICE.cost(Usage(input_tokens=beyond))
        written = min(output, request.max_tokens)
        usage += Usage(input_tokens=sum(tokens), output_tokens=written, searches=searches)
        calling = any(block.get("type") == "tool_use" for block in blocks)
        stop = "max_tokens" if written < output else "tool_use" if calling else "end_turn"
        return ModelAnswer(blocks, stop, usage)


def text(length: int) -> Block:
    return {"type": "text", "text": "# Tea\n" + "word " * (length // 5)}


def call(number: int, path: str) -> Block:
    return {
        "type": "tool_use",
        "id": f"t{number}",
        "name": "read_research",
        "input": {"path": path},
    }


def search(number: int) -> list[Block]:
    found: Block = {"type": "web_search_result", "url": f"https://example.org/{number}",
                    "title": "T", "encrypted_content": "x" * 200 + str(number)}  # fmt: skip
    return [
        {
            "type": "server_tool_use",
            "id": f"s{number}",
            "name": "web_search",
            "input": {"query": "q"},
        },
        {"type": "web_search_tool_result", "tool_use_id": f"s{number}", "content": [found]},
    ]


def always_calls(spender: Spender, request: ModelRequest) -> ModelAnswer:
    blocks = [call(spender.calls * 10 + n, f"doc-{spender.calls}-{n}.md") for n in range(3)]
    return spender.says(request, blocks, 600)


def always_searches(spender: Spender, request: ModelRequest) -> ModelAnswer:
    if request.writing:
        return writes_as_much_as_it_can(spender, request)
    blocks = [
        b for n in range(count_searches(request.tools)) for b in search(spender.calls * 10 + n)
    ]
    blocks.append(call(spender.calls, f"doc-{spender.calls}.md"))
    return spender.says(request, blocks, 2_000)


def searches_instead_of_writing(spender: Spender, request: ModelRequest) -> ModelAnswer:
    """Goes on searching when it was told to write, for as long as nothing forbids it."""
    if request.tools_off:
        return writes_as_much_as_it_can(spender, request)
    blocks = [
        b for n in range(count_searches(request.tools)) for b in search(spender.calls * 10 + n)
    ]
    blocks.append(call(spender.calls, f"doc-{spender.calls}.md"))
    return spender.says(request, blocks, 2_000)


def writes_as_much_as_it_can(spender: Spender, request: ModelRequest) -> ModelAnswer:
    return spender.says(request, [text(4_000)], 100_000)


def thinks_in_silence(spender: Spender, request: ModelRequest) -> ModelAnswer:
    """Writes little and bills everything it may."""
    blocks = [call(spender.calls, f"doc-{spender.calls}.md")]
    return spender.says(request, [text(20)] if request.writing else blocks, request.max_tokens)


def breaks_off(spender: Spender, request: ModelRequest) -> ModelAnswer:
    """Every other call is billed and then lost."""
    if spender.calls % 2:
        spender.billed += spender.read(request) + Usage(output_tokens=10)
        raise NetworkError("reset")
    return always_calls(spender, request)


def breaks_off_while_searching(spender: Spender, request: ModelRequest) -> ModelAnswer:
    """Searches, bills what it found, and is lost before the bill is told."""
    assert spender.watcher is not None
    if request.writing:
        return writes_as_much_as_it_can(spender, request)
    most = count_searches(request.tools)  # Anthropic sees to it that there are no more
    tokens = [spender.rng.randint(2_000, ALLOWANCE) for _ in range(spender.rng.randint(1, most))]
    for number in range(len(tokens)):
        for block in search(number):
            spender.watcher.block(block)
    found = Usage(input_tokens=sum(tokens), output_tokens=50, searches=len(tokens))
    spender.billed += spender.read(request) + found
    raise NetworkError("reset")


def reads_side_by_side(spender: Spender, request: ModelRequest) -> ModelAnswer:
    """One cheap answer whose results are larger than many a budget."""
    if request.writing:
        return writes_as_much_as_it_can(spender, request)
    wanted = spender.rng.sample(range(LARGE), spender.rng.randint(1, LARGE))
    return spender.says(request, [call(n, f"large-{n}.md") for n in wanted], 300)


def reads_one_after_another(spender: Spender, request: ModelRequest) -> ModelAnswer:
    """Results that come in until the next one is one too many."""
    if request.writing or spender.calls > LARGE:
        return writes_as_much_as_it_can(spender, request)
    return spender.says(request, [call(spender.calls, f"large-{spender.calls - 1}.md")], 100)


LARGE = 12  # documents as large as one can be
# Whoever writes when told to must get as far as that, however small the budget.
WRITERS = frozenset(
    {
        writes_as_much_as_it_can.__name__,
        reads_side_by_side.__name__,
        reads_one_after_another.__name__,
    }
)
BEHAVIOURS: dict[str, Behaviour] = {
    behave.__name__: behave
    for behave in (
        always_calls,
        always_searches,
        searches_instead_of_writing,
        writes_as_much_as_it_can,
        thinks_in_silence,
        breaks_off,
        breaks_off_while_searching,
        reads_side_by_side,
        reads_one_after_another,
    )
}


@dataclass
class Row:
    runs: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    closest: float = 0.0
    overshoots: int = 0
    violations: list[str] = field(default_factory=list)


def run(folder: Path, runs: int) -> dict[str, Row]:
    rows: dict[str, Row] = defaultdict(Row)
    bench = Bench(folder, Spender(always_calls, random.Random(0)))
    for n in range(40):
        for m in range(3):
            bench.write(f"doc-{n}-{m}.md", f"document {n} {m} " * 100)
        bench.write(f"doc-{n}.md", f"document {n} " * 400)
    for n in range(LARGE):
        bench.write(f"large-{n}.md", f"{n} {'word ' * 10_000}")
    for seed in range(runs):
        name = list(BEHAVIOURS)[seed % len(BEHAVIOURS)]
        rng = random.Random(seed)
        spender = Spender(BEHAVIOURS[name], rng)
        bench.with_model(spender)
        bench.clock.elapsed = 0.0
        budget = round(rng.uniform(0.05, 1.5), 3)
        done = bench.explore(max_cost_usd=budget, max_steps=20, deadline_seconds=840)
        _judge(rows[name], spender, done, budget, seed)
        if name in WRITERS and done.run.outcome not in {"completed", "partial"}:
            rows[name].violations.append(f"seed {seed}: no report for {budget}")
    return rows


def _judge(row: Row, spender: Spender, done: Exploration, budget: float, seed: int) -> None:
    spent = PRICE.cost(spender.billed)
    row.runs += 1
    row.statuses[done.run.outcome or ""] += 1
    row.reasons[done.run.stats.stop_reason or ""] += 1
    row.closest = max(row.closest, spent / budget)
    row.overshoots += spent > budget
    if spent > budget + spender.beyond_allowance + 1e-6:
        row.violations.append(f"seed {seed}: spent {spent:.4f} of {budget}")
    if (done.run.stats.cost_usd or 0) < spent - 2e-6:  # both are rounded to a millionth
        row.violations.append(f"seed {seed}: metered {done.run.stats.cost_usd}, billed {spent:.4f}")
    if done.run.stats.over_budget_usd < done.run.stats.cost_usd - budget - 1e-6:  # type: ignore[operator]
        row.violations.append(f"seed {seed}: overshoot not reported")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = run(Path(folder), options.runs)
    print(f"{'model':<26}{'runs':>6}{'over':>6}{'worst':>8}  outcomes; reasons")
    for name, row in rows.items():
        outcomes = ", ".join(f"{k} {v}" for k, v in row.statuses.most_common())
        reasons = ", ".join(f"{k} {v}" for k, v in row.reasons.most_common())
        print(
            f"{name:<26}{row.runs:>6}{row.overshoots:>6}{row.closest:>7.0%}  {outcomes}; {reasons}"
        )
    violations = [violation for row in rows.values() for violation in row.violations]
    print(f"{sum(row.runs for row in rows.values())} runs, {len(violations)} violations")
    print(*violations[:20], sep="\n")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
