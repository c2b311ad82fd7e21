"""What an answer that arrives in pieces costs, and what does not break it off."""

import json
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.agent.billing import list_own_calls
from idea_explorer.agent.stream_watcher import StreamWatcher
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import ExternalError, NetworkError, UnavailableError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import Block
from idea_explorer.domain.transcript import (
    AnyEntry,
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
)
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Transcript, Transcripts, Watcher
from idea_explorer.usecases.explore import explore
from tests.fakes.anthropic_turns import filtered_search, search_result, web_fetch, web_search
from tests.fakes.clock import ManualClock
from tests.fakes.engine import Bench, Recorder
from tests.fakes.models import says

RESERVED = Usage(cache_write_tokens=1_000, output_tokens=16_384, searches=5)


def watching() -> StreamWatcher:
    return StreamWatcher(
        Recorder(),
        Deadline.after(ManualClock(), seconds=60),
        lambda: False,
        step=1,
        gathering=True,
        search_tokens=10_000,
        page_tokens=5_000,
    )


def searched(number: int) -> list[Block]:
    call = f"s{number}"
    return [
        {"type": "server_tool_use", "id": call, "name": "web_search", "input": {"query": "tea"}},
        {"type": "web_search_tool_result", "tool_use_id": call, "content": []},
    ]


def test_searches_of_an_answer_that_broke_off_are_metered() -> None:
    watched = watching()
    watched.usage(Usage(input_tokens=1_000, output_tokens=1))
    for number in range(3):
        for block in searched(number):
            watched.block(block)
    watched.block(searched(3)[0])  # under way when the call broke off

    billed = watched.billed(NetworkError("cut"), RESERVED)

    assert (billed.searches, billed.input_tokens) == (4, 41_000)


def test_a_search_says_how_many_pages_it_found() -> None:
    watched = watching()
    for count in (1, 2):
        for block in web_search("q", [search_result("https://a.example", "A")] * count):
            watched.block(block | ({"tool_use_id": "s"} if "tool_use_id" in block else {"id": "s"}))

    told = [e.summary for e in watched.sink.events if e.type == "tool_call_end"]  # type: ignore[attr-defined]

    assert told == ["Found 1 page", "Found 2 pages"]


def test_pages_of_an_answer_that_broke_off_are_metered() -> None:
    watched = watching()
    watched.usage(Usage(input_tokens=1_000, output_tokens=1))
    for number in range(2):
        call, result = web_fetch("https://a.example", "Tea", call_id=f"f{number}")
        watched.block(call)
        watched.block({**result, "tool_use_id": f"f{number}"})

    billed = watched.billed(NetworkError("cut"), RESERVED)

    assert (billed.searches, billed.input_tokens) == (0, 11_000)


def test_a_page_is_shown_without_its_text_and_a_failure_with_its_code() -> None:
    watched = watching()
    read, page = web_fetch("https://a.example/x", "Secret words", title="A", call_id="f")
    lost, failure = web_fetch("https://b.example", error="url_not_accessible", call_id="g")
    for block in (read, {**page, "tool_use_id": "f"}, lost, {**failure, "tool_use_id": "g"}):
        watched.block(block)

    seen = watched.sink.events  # type: ignore[attr-defined]

    assert [event.type for event in seen] == [
        "tool_call_start", "tool_call_end", "tool_call_start", "tool_call_error",
    ]  # fmt: skip
    assert seen[1].summary == "Read https://a.example/x (12 bytes)"
    assert seen[3].error == "web_fetch failed: url_not_accessible"
    assert "Secret" not in str(seen)


def test_of_a_filtered_search_only_the_search_is_shown_and_metered() -> None:
    watched = watching()
    watched.usage(Usage(input_tokens=1_000, output_tokens=1))
    for block in filtered_search("tea", [], "Tea sells.", call_id="c"):
        watched.block(block)

    seen = watched.sink.events  # type: ignore[attr-defined]

    assert [event.tool_call_id for event in seen] == ["c_search", "c_search"]
    assert watched.billed(NetworkError("cut"), RESERVED).searches == 1


def test_searches_that_the_bill_told_are_not_metered_twice() -> None:
    watched = watching()
    for block in searched(1):
        watched.block(block)
    watched.usage(Usage(input_tokens=9_000, output_tokens=50, searches=1))

    billed = watched.billed(NetworkError("cut"), RESERVED)

    assert (billed.searches, billed.input_tokens) == (1, 9_000)


@dataclass
class Streaming:
    """Writes a report over four seconds."""

    clock: ManualClock
    requests: list[ModelRequest] = field(default_factory=list)
    pause: float = 0.0  # for others, in real time

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        self.requests.append(request)
        watcher.usage(Usage(input_tokens=1_000))
        for words in ("# Tea", "\n\nSteep", "ed", "."):
            self.clock.pass_time(1)
            time.sleep(self.pause)
            watcher.tick()
            watcher.text(words)
        return says("# Tea\n\nSteeped.")


class Failing:
    """A transcript that cannot be stored for a while, once the model has been called."""

    def __init__(self, inner: Transcript, times: int) -> None:
        self._inner = inner
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def flush(self) -> None:
        if self._times > 0 and self._inner.entries:
            self._times -= 1
            raise UnavailableError("The store is not available.")
        self._inner.flush()


@dataclass
class FailingTranscripts:
    inner: Transcripts
    times: int

    def open(self, exploration_id: ExplorationId, lease: int) -> Any:
        return Failing(self.inner.open(exploration_id, lease), self.times)


def bench(folder: Path, times: int) -> tuple[Bench, Streaming]:
    b = Bench(folder, model := Streaming(clock := ManualClock()), clock=clock)
    b.deps = replace(b.deps, transcripts=FailingTranscripts(b.store, times), text_seconds=0.001)
    return b, model


def test_a_store_that_fails_while_an_answer_arrives_costs_neither_answer_nor_text(
    tmp_path: Path,
) -> None:
    b, model = bench(tmp_path, 1)
    model.pause = 0.05

    done = b.explore()

    assert (done.run.outcome, len(model.requests)) == ("completed", 1)
    assert not [entry for entry in b.entries(done) if isinstance(entry, ModelCallFailed)]
    told = [json.loads(e.data)["content"] for e in b.store.read(done.id) if e.type == "text_delta"]
    assert "".join(told) == "# Tea\n\nSteeped."


def test_a_store_that_stays_away_ends_the_run_and_costs_no_answer_if_it_comes_back(
    tmp_path: Path,
) -> None:
    b, model = bench(tmp_path, 1)
    b.deps = replace(b.deps, text_seconds=60.0)
    queued = b.submit()
    with pytest.raises(ExternalError, match="store"):
        explore(queued.id, 1, b.deps)
    assert isinstance(b.entries(b.store.load(queued.id))[-1], ModelCallFinished)

    b.deps = replace(b.deps, transcripts=b.store)
    done = explore(queued.id, 1, b.deps)

    assert (done.run.outcome, len(model.requests)) == ("completed", 1)


@dataclass
class Unannounced:
    """A transcript whose store is away when a call is announced, for the first time."""

    inner: Transcript
    failed: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def append(self, entry: AnyEntry) -> None:
        if self.failed:
            self.inner.append(entry)
            return
        self.failed = True
        self.inner.add(entry)
        raise UnavailableError("The store is not available.")


@dataclass
class UnannouncedTranscripts:
    inner: Transcripts

    def open(self, exploration_id: ExplorationId, lease: int) -> Any:
        return Unannounced(self.inner.open(exploration_id, lease))


def test_a_call_that_could_not_be_announced_is_not_made_and_costs_nothing(tmp_path: Path) -> None:
    b, model = bench(tmp_path, 0)
    b.deps = replace(b.deps, transcripts=UnannouncedTranscripts(b.store))
    queued = b.submit()
    with pytest.raises(ExternalError, match="store"):
        explore(queued.id, 1, b.deps)
    entries = b.entries(b.store.load(queued.id))
    assert [type(entry) for entry in entries[-2:]] == [ModelCallStarted, ModelCallFailed]
    assert list_own_calls(entries) == [Usage()]

    b.deps = replace(b.deps, transcripts=b.store)
    done = explore(queued.id, 1, b.deps)

    assert (done.run.outcome, len(model.requests)) == ("completed", 1)


def test_a_cancel_request_that_cannot_be_read_costs_no_answer() -> None:
    watched = StreamWatcher(
        Recorder(),
        Deadline.after(ManualClock(), seconds=60),
        _unreadable,
        step=1,
        gathering=True,
        search_tokens=10_000,
    )
    watched.tick()
    watched.text("# Tea")
    assert watched.so_far == "# Tea"


def _unreadable() -> bool:
    raise UnavailableError("The store is not available.")
