"""What one exploration asks of the stores: transactions and fsyncs, requests to AWS and their price, threads;
and how long lists and events of a full store take to read.

    python -m tests.performance.counts

Five steps, ten tool calls and a report, from the submission to the final status, with a model that answers
at once. In a deployment each part has its own process, as its functions have. A slow model adds a write for
each half second of text in a deployment, and for each twentieth on this machine.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.events import ToolCallStart
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import Filter, ModelAnswer, ModelRequest, Watcher
from idea_explorer.settings import Settings
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.admission import admit
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.publish import publish
from idea_explorer.usecases.submit import enqueue, submit
from idea_explorer.wiring.deps import cloud_deps, local_deps
from tests.fakes.aws import REGION, fake_aws
from tests.fakes.clock import START, ManualClock
from tests.fakes.counting import AwsCounts, LocalCounts, count_aws, count_local
from tests.fakes.models import ScriptedModel, calls, says
from tests.fakes.reports import business

CALLS = (3, 3, 2, 2)  # tool calls of each step; the fifth writes the report
WORDS = 900  # of each document: about 6 KB
DAILY_USD = 50.0  # a limit, so that budgets are reserved
NEVER = 3_600.0  # seconds after which text is stored: the model is quicker, on any machine
ROWS = 10_000
EXPLORATIONS = 1_000  # for which the price is printed


@dataclass
class StreamingModel(ScriptedModel):
    """Sends its text word by word."""

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        by_word: Any = _ByWord(watcher)
        return super().answer(request, by_word, deadline)


@dataclass
class Ticking(ManualClock):
    """Every record has a time of its own, and no second passes, however slow the machine is."""

    ticks: int = 0

    def now(self) -> datetime:
        self.ticks += 1
        return super().now() + timedelta(milliseconds=self.ticks)


class _ByWord:
    def __init__(self, inner: Watcher) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def text(self, delta: str) -> None:
        for word in re.findall(r"\s*\S+|\s+", delta):
            self._inner.text(word)


def write_documents(folder: Path) -> list[str]:
    names = [f"note-{number}.md" for number in range(sum(CALLS))]
    (folder / "ideas").mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        words = " ".join(f"word{number * n % 977}" for n in range(WORDS))
        (folder / "ideas" / name).write_text(f"# Note {number}\n\nTea rooms do well. {words}\n")
    return names


def make_model(names: list[str]) -> StreamingModel:
    left = iter(names)
    steps = [
        calls(*(_reading(next(left)) for _ in range(count)), text="Reading. " * 20)
        for count in CALLS
    ]
    said = " ".join(f"Tea rooms do well, [as known](../{name})." for name in names[:3])
    return StreamingModel([*steps, says(business("Tea", said + " And so on." * 400, "PIVOT"))])


def _reading(name: str) -> tuple[str, JsonObject]:
    return "read_research", {"path": name}


def make_engine(folder: Path) -> Engine:
    tools = research_tools(Folder(folder), "web_search_20250305")
    return Engine(
        model=make_model(write_documents(folder)),
        toolset_for=lambda *_: tools,
        framework_for=lambda *_: None,
    )


REQUEST = ExploreRequest(idea="A tea room for people who would rather read", depth="quick")


def count_deployed(folder: Path) -> AwsCounts:
    """Of a deployment: API, dispatch, explore and publish each with stores of their own."""
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    with fake_aws() as settings:
        limited = settings.model_copy(update={"daily_cost_usd": DAILY_USD})
        with count_aws() as counts:
            api = _deployed(limited)
            queued = submit(REQUEST, "ada", api)
            enqueue(queued, api)
            assert admit(_deployed(limited)) == [queued.id]
            engine = make_engine(folder)
            _explore(queued.id, replace(_deployed(limited), engine=lambda: engine))
            publish(queued.id, 1, replace(_deployed(limited), publisher=lambda: None))
    return counts


def _deployed(settings: Settings) -> Deps:
    deps = cloud_deps(settings, SilentLog())
    return replace(deps, research=lambda: None, clock=Ticking(), text_seconds=NEVER)


def _explore(exploration_id: ExplorationId, deps: Deps) -> None:
    ended = explore(exploration_id, 1, deps)
    stats = ended.run.stats
    assert (ended.run.outcome, stats.steps, len(stats.tool_calls or [])) == ("completed", 5, 10), (
        ended
    )


def count_embedded(folder: Path) -> LocalCounts:
    """Of this machine, in one process."""
    with count_local() as counts:
        run_embedded(folder)
    return counts


def run_embedded(folder: Path) -> None:
    settings = Settings(research_dir=folder, daily_cost_usd=DAILY_USD)
    engine = make_engine(folder)
    deps = replace(
        local_deps(settings, SilentLog()),
        engine=lambda: engine,
        publisher=lambda: None,
        clock=Ticking(),
        text_seconds=NEVER,
    )
    queued = submit(REQUEST, "ada", deps, by_command=True)
    _explore(queued.id, deps)
    publish(queued.id, 1, deps)


def count_syncs() -> int | None:
    """How often the system was told to write to the disk itself; None without strace."""
    if shutil.which("strace") is None:
        return None
    watch = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync"]
    command = [*watch, sys.executable, "-m", "tests.performance.counts", "--embedded"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None  # a container may forbid it
    return len(re.findall(r"\bf(?:data)?sync\(", done.stderr))


def fill(store: SqliteStore, count: int) -> Exploration:
    """So many explorations of one owner, of which a few differ, and as many events of the last of them."""
    for number in range(count):
        mode = "business" if number % (count // 4) else "exploration"
        request = REQUEST.model_copy(update={"mode": mode})
        last = Exploration.new(request, "ada", at=START + timedelta(seconds=number))
        store.create(last)
    taken = store.take_over(last.id, lambda e: e.started(at=START))
    transcript = store.open(taken.id, taken.lease)
    for number in range(count):
        transcript.add_event(ToolCallStart(tool_call_id=str(number), tool_name="a", input={}))
    transcript.flush()
    return taken


def time_reads(folder: Path) -> dict[str, float]:
    """Milliseconds that each read takes with so many rows, the best of five."""
    store = SqliteStore(folder / "store.db")
    last = fill(store, ROWS)
    wanted = {
        "list": Filter(),
        "list by status": Filter(status="running"),
        "list by mode": Filter(mode="exploration"),
        "list by status and mode": Filter(status="queued", mode="exploration"),
    }
    reads: dict[str, Callable[[], object]] = {
        name: partial(store.page, "ada", only, limit=20, cursor=None)
        for name, only in wanted.items()
    }
    reads["the last 100 events"] = partial(store.read, last.id, after=ROWS - 100)
    reads["no new event"] = partial(store.read, last.id, after=ROWS)
    return {name: 1_000 * min(timeit.repeat(read, number=1)) for name, read in reads.items()}


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _print_rows(local: LocalCounts, syncs: int | None, aws: AwsCounts) -> None:
    rows = {
        "on this machine: transactions": f"{local.transactions}",
        "fsyncs": "?" if syncs is None else f"{syncs}",
        "threads started": f"{local.threads}",
        "bytes written": f"{local.bytes_written:,}",
        "in a deployment: requests to AWS": f"{aws.total}",
        "of these, TransactWriteItems": f"{aws.requests['dynamodb TransactWriteItems']}",
        "write units": f"{aws.write_units}",
        "dollars for the stores, 1,000 explorations": f"{aws.usd * EXPLORATIONS:.2f}",
    }
    for name, value in rows.items():
        print(f"| {name} | {value} |")


def main() -> None:
    if sys.argv[1:] == ["--embedded"]:
        with _folder() as folder:
            run_embedded(folder)
        return
    with _folder() as folder:
        local = count_embedded(folder)
    with _folder() as folder:
        aws = count_deployed(folder)
    with _folder() as folder:
        times = time_reads(folder)
    syncs = count_syncs()
    print("An exploration of five steps and ten tool calls\n\nOn this machine")
    print(f"{local.transactions:8}  transactions\n{local.reads:8}  reads")
    print(f"{'?' if syncs is None else syncs:>8}  fsyncs\n{local.threads:8}  threads started")
    print(f"{local.bytes_written:8,}  bytes written\n\nIn a deployment")
    for name, count in sorted(aws.requests.items()):
        print(f"{count:8}  {name}")
    print(f"{aws.total:8}  requests in all\n{aws.write_units:8}  write units")
    print(f"{aws.read_units:8g}  read units")
    print(
        f"{aws.usd * EXPLORATIONS:8.3f}  dollars per {EXPLORATIONS:,} explorations: table, bucket"
    )
    print("\nFor docs/performance.md")
    _print_rows(local, syncs, aws)
    print(f"\nOn this machine, with {ROWS:,} explorations, and as many events of one of them")
    for name, milliseconds in times.items():
        print(f"{milliseconds:8.2f}  ms: {name}")


if __name__ == "__main__":
    main()
