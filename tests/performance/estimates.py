"""What runs were estimated to take, against what they took.

    python -m tests.performance.estimates [--seed 1]

Fifty scripted runs of different sizes through the real engine, in one store: each is estimated before it
starts, the first ones of a kind from the table, the later ones from the runs before them. The sizes are
drawn at random from distributions of their own, so that the estimate cannot know them.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from idea_explorer.adapters.folder.research import Folder
from idea_explorer.agent.budget import BYTES_PER_TOKEN, estimate_tokens
from idea_explorer.agent.requests import count_searches
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain import limits
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.estimate import Estimate, Range, format_dollars
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import Block, JsonObject, text_of
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher
from idea_explorer.tools.plan import plan_tool
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.estimate import estimate
from idea_explorer.usecases.explore import explore
from tests.fakes.branching import plan_of, question_of
from tests.fakes.clock import ManualClock
from tests.fakes.deps import PRICED
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, batch_of, judged, last_texts

RUNS = 50
OWNER = "tester"
PAGE = "https://tea.example/"
# depth and model, with how many of the runs they are; another kind is another line
KINDS = {
    ("quick", "sonnet"): 18,
    ("standard", "sonnet"): 12,
    ("deep", "sonnet"): 8,
    ("quick", "opus"): 6,
    ("standard", "haiku"): 6,
}


@dataclass(frozen=True)
class Row:
    request: ExploreRequest
    estimate: Estimate
    cost_usd: float
    minutes: float

    @property
    def inside(self) -> bool:
        cost = self.estimate.cost_usd
        assert cost is not None
        return _holds(cost, self.cost_usd) and _holds(self.estimate.minutes, self.minutes)

    @property
    def width(self) -> float:
        """How many times the low end of the cost the high end is."""
        cost = self.estimate.cost_usd
        assert cost is not None
        return cost.high / cost.low

    def __str__(self) -> str:
        cost, minutes = self.estimate.cost_usd, self.estimate.minutes
        assert cost is not None
        basis = f"{self.estimate.runs} runs" if self.estimate.runs else "table"
        return (
            f"{self.request.depth:9}{self.request.model:7}{basis:>8}"
            f"{format_dollars(cost):>18}{self.cost_usd:>9.3f}"
            f"{minutes.low:>7.1f} to {minutes.high:4.1f}{self.minutes:>7.1f}"
            f"  {'inside' if self.inside else 'OUTSIDE'}"
        )


HEADER = (
    f"{'depth':9}{'model':7}{'from':>8}{'estimate':>18}{'dollars':>9}{'estimate':>15}{'minutes':>9}"
)


def _holds(told: Range, took: float) -> bool:
    return told.low <= took <= told.high


class Researcher:
    """A model with habits of its own. It counts tokens as the API does: what came before is read from the
    cache, what is new is written to it, and search results are input of the call that searched."""

    def __init__(
        self, random: Random, clock: ManualClock, *, steps: int, words: float, plans: bool = False
    ) -> None:
        self._random = random
        self._clock = clock
        self._steps = random.randint(max(2, math.ceil(0.5 * steps)), steps)
        self._words = words
        self._plans = plans
        self._cited = [_name(random) for _ in range(max(2, int(words / 90)))]
        self._search_tokens = random.lognormvariate(math.log(4_500), 0.3)
        self._thinking_tokens = random.lognormvariate(math.log(700), 0.35)
        self._tokens_per_word = random.uniform(1.35, 1.6)
        self._tokens_per_second = random.uniform(55.0, 85.0)
        self._answers = 0
        self._old = 0.0
        self._new = 0.0

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        """Takes its time; when that is up, whatever it has not said yet is cut off."""
        reply, seconds = self._decide(request)
        said = min(1.0, max(deadline.left, 0.0) / seconds)
        self._clock.pass_time(said * seconds)
        watcher.usage(reply.usage)
        for block in reply.content:
            if text := text_of(block.get("text")):
                watcher.text(text[: int(said * len(text))])
            watcher.tick()
            watcher.block(block)
        return reply

    def _decide(self, request: ModelRequest) -> tuple[ModelAnswer, float]:
        """The next answer, and the seconds that it takes."""
        random, number = self._random, self._answers
        self._answers += 1
        if number == 0:
            self._new = estimate_tokens(request) * BYTES_PER_TOKEN / random.uniform(3.6, 4.2)
        writes = request.writing or number + 1 >= self._steps
        searches = 0 if writes or (self._plans and number == 0) else random.choice([1, 2, 2, 3, 3])
        searches = min(searches, count_searches(request.tools))
        found = searches * self._search_tokens * random.uniform(0.8, 1.2)
        output = self._thinking_tokens * random.uniform(0.7, 1.4)
        if request.writing:
            output *= 0.5  # the effort for writing is lower
            self._words = min(self._words, _room(request))
        if writes:
            output += self._words * self._tokens_per_word
        usage = Usage(
            cache_read_tokens=int(self._old),
            cache_write_tokens=int(self._new),
            input_tokens=int(found),
            output_tokens=int(output),
            searches=searches,
        )
        self._old, self._new = self._old + self._new, found + output
        seconds = output / self._tokens_per_second + random.uniform(1.0, 3.5)
        seconds += searches * random.uniform(0.8, 2.5)
        if writes:
            return ModelAnswer(self._report(), "end_turn", usage), seconds
        self._new += random.choice([0, 0, 800, 3_000])  # a document of the team
        blocks = [b for n in range(searches) for b in _found(f"s{number}-{n}")]
        call = _call("search_research", {"query": f"tea {number}"}, number)
        if self._plans and number == 0:
            questions = [f"What of {_name(random)}?" for _ in range(random.choice([3, 4, 4, 4]))]
            call = _call("write_plan", plan_of(*questions), number)
        return ModelAnswer([*blocks, call], "tool_use", usage), seconds

    def _report(self) -> list[Block]:
        """With sentences that cite. When it is asked for again, the first of them is another."""
        self._cited[0] = _name(self._random)
        begun: Block = {"type": "text", "text": "# Tea\n\n" + "word " * int(self._words) + "\n\n"}
        return [begun, *(b for name in self._cited for b in _cite(name))]


class Researchers:
    """The model of one run: a researcher for the run, one for each of its branches, and a judge of its
    report, who finds a sentence wrong in some of the runs."""

    def __init__(self, random: Random, clock: ManualClock, request: ExploreRequest) -> None:
        depth = request.depth_limits
        assert depth is not None
        self._random = random
        self._clock = clock
        self._branch_steps = depth.branch_steps
        self._wrong = random.random() < 0.3
        words = random.uniform(0.85, 1.1) * random.randint(*depth.words)
        asked = Researcher(random, clock, steps=request.steps, words=words, plans=depth.plans)
        self._by_question = {"": asked}

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        if request.schema is not None:
            return self._judge(request)
        question = question_of(request)
        if question not in self._by_question:
            words = float(self._random.randint(250, 800))
            self._by_question[question] = Researcher(
                self._random, self._clock, steps=self._branch_steps, words=words
            )
        return self._by_question[question].answer(request, watcher, deadline)

    def _judge(self, request: ModelRequest) -> ModelAnswer:
        count = len(batch_of(request))
        read = estimate_tokens(request) * BYTES_PER_TOKEN / self._random.uniform(3.6, 4.2)
        output = int(count * self._random.uniform(25, 50))
        self._clock.pass_time(1.5 + output / self._random.uniform(100.0, 180.0))
        verdict = "not" if self._wrong else "supported"
        self._wrong = False  # once is enough for a correction
        return judged(request, verdict, Usage(input_tokens=int(read), output_tokens=output))


def _name(random: Random) -> str:
    return "".join(random.choices("abcdefghiklmnoprstu", k=8))


def _cite(name: str) -> list[Block]:
    """A sentence in words of its own, so that the judge is asked about it."""
    sentence = f"Tea sells well in {name}."
    cited: Block = {
        "type": "web_search_result_location",
        "url": PAGE,
        "title": "Tea",
        "cited_text": f"In the shops of {name}, tea sells well.",
        "encrypted_index": "",
    }
    return [{"type": "text", "text": sentence, "citations": [cited]}, {"type": "text", "text": " "}]


def _call(name: str, given: JsonObject, number: int) -> Block:
    return {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}


def _room(request: ModelRequest) -> float:
    """How many words the report may have, where it is told that time is short."""
    told = [re.search(r"under ([\d,]+) words", text) for text in last_texts(request)]
    return min((float(found[1].replace(",", "")) for found in told if found), default=math.inf)


def _found(call: str) -> list[Block]:
    page: Block = {
        "type": "web_search_result",
        "url": PAGE,
        "title": "Tea",
        "encrypted_content": call,
        "page_age": None,
    }
    asked: Block = {
        "type": "server_tool_use",
        "id": call,
        "name": "web_search",
        "input": {"query": call},
    }
    return [asked, {"type": "web_search_tool_result", "tool_use_id": call, "content": [page]}]


def draw_requests(random: Random) -> list[ExploreRequest]:
    kinds = [kind for kind, count in KINDS.items() for _ in range(count)]
    assert len(kinds) == RUNS
    random.shuffle(kinds)
    return [_draw_request(random, depth, model) for depth, model in kinds]


def _draw_request(random: Random, depth: str, model: str) -> ExploreRequest:
    fields: dict[str, object] = {"idea": "A tea room " * random.randint(1, 40)}
    if random.random() < 0.3:
        fields["context"] = "What we know of tea. " * random.randint(20, 1_000)
    if random.random() < 0.15:
        fields["max_steps"] = random.randint(4, 12)
    return ExploreRequest.model_validate({**fields, "depth": depth, "model": model})


def measure(folder: Path, seed: int = 1) -> list[Row]:
    random, clock = Random(seed), ManualClock()
    bench = Bench(folder, ScriptedModel([]), clock=clock)
    bench.engine = replace(bench.engine, toolset_for=lambda run, _: _toolset_for(run, folder))
    for number in range(12):
        bench.write(f"{number}.md", f"# Tea {number}\n\ntea {number}")
    policy = replace(PRICED, max_cost_usd=limits.MAX_COST_USD)
    bench.deps = replace(bench.deps, policy=policy)
    rows: list[Row] = []
    for request in draw_requests(random):
        told = estimate(request, OWNER, bench.deps)
        bench.with_model(Researchers(random, clock, request))
        queued = bench.submit(**request.model_dump(exclude_unset=True))
        done = bench.publish(_explore(queued, bench))
        seconds = done.seconds_worked
        assert seconds is not None
        rows.append(Row(request, told, done.run.stats.cost_usd or 0.0, seconds / 60))
        clock.pass_time(60.0)
    return rows


def _toolset_for(exploration: Exploration, folder: Path) -> Toolset:
    plan = plan_tool() if exploration.request.plans else None
    return research_tools(Folder(folder), "web_search_20250305", plan=plan)


def _explore(queued: Exploration, bench: Bench) -> Exploration:
    """With its branches, one after the other, which all begin at the same time."""
    reached = explore(queued.id, queued.run.number, bench.deps)
    if not reached.run.branches:
        return reached
    clock, ends = bench.clock, []
    began = clock.elapsed
    for branch in reached.run.branches:
        clock.elapsed = began
        explore(branch.id, branch.run, bench.deps)
        ends.append(clock.elapsed)
    clock.elapsed = max(ends)
    return explore(queued.id, queued.run.number, bench.deps, branched=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), options.seed)
    print(HEADER)
    print(*rows, sep="\n")
    inside = sum(row.inside for row in rows)
    for name, some in {
        "from the table": [row for row in rows if not row.estimate.runs],
        "from earlier runs": [row for row in rows if row.estimate.runs],
    }.items():
        width = statistics.median(row.width for row in some)
        hits = sum(row.inside for row in some)
        print(f"{name}: {hits} of {len(some)} inside, high ends {width:.1f} times the low ones")
    print(f"{inside} of {len(rows)} runs took what was estimated, in dollars and in minutes")
    return 0 if inside >= 0.9 * len(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
