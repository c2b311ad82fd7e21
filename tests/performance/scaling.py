"""How the work of the index grows with the documents, and that of a run with its steps and its results.

    python -m tests.performance.scaling [documents] [runs]

Documents of 10 KB, each in a folder with its log, as `idea serve` finds them: building the index once, then
`POST /similar`, `POST /explorations` and the first search of a run, each when the files need not be looked at
and when they are, and publishing. A search does not wait for that within a minute: it comes as long after the
last look as the others, as in a run, which looks at the files before it asks the model. All with a new idea
each time; the median of several.

A run talks to a model in a process of its own, and reads documents of one size. The exponent is the slope of
the line through the measurements on a logarithmic scale: 1 is linear, 2 quadratic. The conversation is sent
anew with every step, because the API keeps none, so the bytes sent grow with the square of the steps.
"""

import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

from idea_explorer.adapters.claude import Claude
from idea_explorer.adapters.research_index.index import (
    BACKGROUND_SECONDS,
    MAX_PAUSE_SECONDS,
    SECONDS_PER_FILE,
)
from idea_explorer.api.app import build_handler
from idea_explorer.api.gateway import build_gateway_event
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.limits import MAX_STEPS
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.publish import publish
from idea_explorer.wiring.deps import server_deps
from idea_explorer.wiring.toolsets import research_repository
from tests.fakes.anthropic_turns import Turn, answer, text, tool_use
from tests.fakes.api import FakeContext
from tests.fakes.engine import Bench
from tests.performance.peers.runners.protocol import cpu_seconds

COUNTS = (5, 200, 2_000, 20_000)
DOCUMENT_BYTES = 10_000
SAMPLES = 9
LOOKING_SAMPLES = 3  # there are pauses of seconds between them
STEPS = (5, 10, 20, 40)
STEP_BYTES = 10_000
RESULT_BYTES = (1_000, 10_000, 100_000, 950_000)  # together; one document has 50 KB at most
WORDS = 20_000


def make_words() -> list[str]:
    letters = random.Random(1)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "ar", "en")]
    return ["".join(letters.choices(syllables, k=letters.randint(2, 4))) for _ in range(WORDS)]


VOCABULARY = make_words()
# as in any language, the second word is half as frequent as the first
WEIGHTS = list(itertools.accumulate(1 / (rank + 10) for rank in range(WORDS)))


def write_text(source: random.Random, count: int) -> str:
    return " ".join(source.choices(VOCABULARY, cum_weights=WEIGHTS, k=count))


def write_documents(ideas: Path, count: int) -> None:
    for number in range(count):
        source = random.Random(number)
        idea = write_text(source, 8)
        paragraphs = "\n\n".join(write_text(source, 80) for _ in range(40))[:DOCUMENT_BYTES]
        folder = ideas / f"2026-01-{number % 28 + 1:02}-document-{number}"
        folder.mkdir(parents=True)
        matter = f"---\nidea: {idea}\nmode: business\nstatus: completed\n---\n\n"
        (folder / "research.md").write_text(f"{matter}# {idea.capitalize()}\n\n{paragraphs}\n")
        (folder / "exploration-log.json").write_text("[]")


def time_in_ms(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1_000


class Service:
    """What `idea serve` does with a folder of so many documents."""

    def __init__(self, folder: Path, count: int) -> None:
        write_documents(folder / "ideas", count)
        self.settings = Settings(research_dir=folder, anthropic_api_key="k")
        self.deps = server_deps(self.settings, SilentLog())
        self._handle = build_handler(self.deps)
        self._ideas = random.Random(count)

    def new_idea(self) -> str:
        return write_text(self._ideas, 12)

    def post(self, path: str) -> None:
        body = json.dumps({"idea": self.new_idea()}).encode()
        answer = self._handle(build_gateway_event("POST", path, {}, body, "ada"), FakeContext())
        assert answer["statusCode"] in {200, 202}, answer

    def search(self) -> None:
        research = research_repository(self.settings)
        assert research is not None
        assert research.search(self.new_idea(), 5)[1] > 0

    def publish(self) -> None:
        run = _finished(self.new_idea(), self.deps)
        assert publish(run.id, run.run.number, self.deps).status == "completed"


def _finished(idea: str, deps: Deps) -> Exploration:
    new = Exploration.new(ExploreRequest(idea=idea), "ada", at=deps.clock.now())
    over = {"status": "running", "outcome": "completed", "stats": Stats(steps=3, cost_usd=0.1)}
    exploration = new.replace(**over, finished_at=deps.clock.now())
    deps.explorations.create(exploration)
    deps.reports.save_report(exploration.id, exploration.lease, f"# {idea}\n\nIt is so.\n")
    return exploration


def measure_documents(counts: Sequence[int] = COUNTS) -> None:
    print("In ms; in brackets where the files are looked at first. Load", _load())
    print("| documents | build | `POST /similar` | submit | search | publish |")
    print("|---|---|---|---|---|---|")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            build, *pairs, publish = measure_service(Service(Path(folder), count), count)
        calls = [
            f"{_show(quick)} ({_show(slow)})"
            for quick, slow in zip(pairs[::2], pairs[1::2], strict=True)
        ]
        print(_row(f"{count:,}", _show(build), *calls, _show(publish)), flush=True)
    print("Load", _load())


def _show(ms: float) -> str:
    return f"{ms:,.1f}" if ms < 10 else f"{ms:,.0f}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}, {os.cpu_count()} cores"


def measure_service(service: Service, count: int) -> list[float]:
    took = [time_in_ms(service.search)]
    time.sleep(2.5)  # until the times of the files count
    service.search()
    # after which an answer waits until the files have been looked at
    pause = max(4 * count * SECONDS_PER_FILE, MAX_PAUSE_SECONDS) + BACKGROUND_SECONDS
    similar, submit = partial(service.post, "/similar"), partial(service.post, "/explorations")
    for call in (similar, submit, service.search):
        took.append(statistics.median(time_in_ms(call) for _ in range(SAMPLES)))
        took.append(statistics.median(_time_after(pause, call) for _ in range(LOOKING_SAMPLES)))
    took.append(statistics.median(time_in_ms(service.publish) for _ in range(SAMPLES)))
    return took


def _time_after(pause: float, call: Callable[[], object]) -> float:
    time.sleep(pause)
    return time_in_ms(call)


@dataclass(frozen=True)
class RunCost:
    cpu_ms: float
    requests: int
    sent: int
    stored: int


@contextmanager
def start_model(folder: Path, turns: Sequence[Turn]) -> Iterator[tuple[str, Path]]:
    """The address of a server with a script, and the file in which it notes what it was sent."""
    script, log = folder / "script.json", folder / "requests.jsonl"
    script.write_text(json.dumps([{"blocks": list(turn.blocks)} for turn in turns]))
    command = [sys.executable, "-m", "tests.fakes.anthropic_server", "--by-conversation"]
    command += ["--script", str(script), "--requests-log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1], log
        finally:
            server.terminate()


def measure_run(steps: int, size: int) -> RunCost:
    """A run of so many steps, each of which but the last reads a document of so many bytes."""
    reads = [answer(tool_use("read_research", {"path": f"{n}.md"})) for n in range(steps - 1)]
    script = [*reads, answer(text("# Tea\n\nTea rooms do well."))]
    with (
        tempfile.TemporaryDirectory() as folder,
        start_model(Path(folder), script) as (url, log),
    ):
        bench = Bench(Path(folder) / "team", Claude.with_key("key", url))
        for number in range(steps - 1):
            bench.write(f"{number}.md", write_text(random.Random(number), size // 4)[:size])
        queued = bench.submit(max_steps=min(steps, MAX_STEPS), deadline_seconds=840)
        beyond = max(0, steps - MAX_STEPS)
        bench.store.take_over(queued.id, lambda e: e.replace(base_steps=beyond))
        before = cpu_seconds()
        done = explore(queued.id, queued.run.number, bench.deps)
        took = cpu_seconds() - before
        assert (done.run.outcome, done.run.stats.steps) == ("completed", steps), done.run
        sent = [len(line) for line in log.read_bytes().splitlines()]
        stored = sum(file.stat().st_size for file in bench.root.glob("store.db*"))
    return RunCost(took * 1_000, len(sent), sum(sent), stored)


def fit(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The slope of the line through the points on a logarithmic scale."""
    slope, _ = statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, values)])
    return slope


def measure_runs() -> None:
    measure_run(5, 1_000)  # loads what a run needs
    steps = {count: measure_run(count, STEP_BYTES) for count in STEPS}
    _print_fit(f"steps, {STEP_BYTES:,} bytes each", steps)
    most = max(STEPS[:-1])
    totals = {total: measure_run(most, total // (most - 1)) for total in RESULT_BYTES}
    _print_fit(f"bytes read in {most} steps", totals)


def _print_fit(name: str, costs: Mapping[int, RunCost]) -> None:
    print(f"\n| {name} | CPU ms | requests | bytes sent | bytes stored |\n|---|---|---|---|---|")
    for size, cost in costs.items():
        numbers = (cost.cpu_ms, cost.requests, cost.sent, cost.stored)
        print(_row(f"{size:,}", *(f"{number:,.0f}" for number in numbers)))
    columns = zip(*(astuple(cost) for cost in costs.values()), strict=True)
    print(_row("exponent", *(f"{fit([*costs], column):.2f}" for column in columns)))


def main(parts: Sequence[str]) -> None:
    if not parts or "documents" in parts:
        measure_documents()
    if not parts or "runs" in parts:
        measure_runs()


if __name__ == "__main__":
    main(sys.argv[1:])
