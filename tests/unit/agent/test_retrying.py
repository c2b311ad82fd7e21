"""Whoever watches a run is told while it waits for the model: why, and for how long."""

import json
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

import pytest

from idea_explorer.cli.display import ProgressDisplay
from idea_explorer.cli.screens import PlainScreen
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import NetworkError, RateLimitedError, UnavailableError
from idea_explorer.domain.events import (
    MessageStart,
    RetryScheduled,
    RunEvent,
    TextDelta,
)
from idea_explorer.domain.progress import progress_of
from idea_explorer.observability.log_sink import LogSink
from idea_explorer.ports import Filter, ModelAnswer, ModelRequest, Watcher
from tests.fakes.clock import ManualClock
from tests.fakes.engine import Bench, RecordedLog
from tests.fakes.models import A_CALL, says, scripted

BUSY = UnavailableError("Claude is overloaded (529).", hint="Try again in a few minutes.")
LIMITED = RateLimitedError("Claude's rate limit was reached.", retry_after=6.4)
REPORT = says("# Tea\n\nYes.")
TOLD = [
    "Claude is overloaded (529). Trying again in 1 s (attempt 2 of 5).",
    "Claude's rate limit was reached. Trying again in 7 s (attempt 3 of 5).",
]


@dataclass
class Looking(ManualClock):
    """Somebody looks at the exploration whenever it sleeps."""

    bench: Bench | None = None
    seen: list[str] = field(default_factory=list)

    def label(self) -> str:
        assert self.bench is not None
        (listed,) = self.bench.store.page("tester", Filter(), limit=1, cursor=None).explorations
        events = [event.data for event in self.bench.store.read(listed.id)]
        return progress_of(listed, events, self.now()).label

    def sleep(self, seconds: float) -> None:
        self.seen.append(self.label())
        super().sleep(seconds)
        self.seen.append(self.label())


def test_each_wait_is_told_before_it_begins(tmp_path: Path) -> None:
    log = RecordedLog()
    bench = Bench(tmp_path, scripted([BUSY, LIMITED, REPORT]))
    bench.deps = replace(bench.deps, sinks_for=lambda e: [bench.seen, LogSink(log, e)])

    done = bench.run()

    waits = [event for event in bench.seen.events if isinstance(event, RetryScheduled)]
    assert [wait.sentence for wait in waits] == TOLD
    assert log.of("model_retry_attempt") == [
        {
            "explorationId": done.id, "step": 1, "attempt": 2, "seconds": 1.0,
            "errorType": "service_unavailable", "error": "Claude is overloaded (529).",
        },
        {
            "explorationId": done.id, "step": 1, "attempt": 3, "seconds": 6.4,
            "errorType": "rate_limited", "error": "Claude's rate limit was reached.",
        },
    ]  # fmt: skip


def test_the_label_tells_it_as_long_as_it_waits(tmp_path: Path) -> None:
    clock = Looking()
    clock.bench = bench = Bench(tmp_path, scripted([BUSY, LIMITED, REPORT]), clock=clock)

    bench.run()

    labels = [label for label, _ in groupby(clock.seen)]
    assert labels == [TOLD[0], "Thinking", TOLD[1], "Thinking"]
    assert clock.label() == "Completed"


def test_the_live_view_gets_no_event_that_its_contract_does_not_have(tmp_path: Path) -> None:
    bench = Bench(tmp_path, scripted([BUSY, REPORT]))

    done = bench.run()

    assert [event.type for event in bench.store.read(done.id)] == [
        "status_changed", "message_start", "text_delta", "step_finished", "message_end",
        "status_changed",
    ]  # fmt: skip


@dataclass
class Breaking:
    """Breaks off within its report, a few times."""

    times: int
    silent: bool = False

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        watcher.usage(A_CALL)
        if not self.silent:
            watcher.text("# Te" if self.times else "# Tea\n\nYes.")
        self.times -= 1
        if self.times >= 0:
            raise NetworkError("cut")
        return REPORT


def test_an_answer_that_is_written_again_begins_its_message_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Breaking(times=2))

    done = bench.run()

    events = [json.loads(event.data) for event in bench.store.read(done.id)]
    told = [e.get("content", e.get("messageId", e["type"])) for e in events]
    start = f"{done.id}-1"
    assert told[1:7] == [start, "# Te", start, "# Te", start, "# Tea\n\nYes."]
    assert told[7:] == ["step_finished", "message_end", "status_changed"]


def test_an_answer_of_which_nothing_was_told_begins_no_message_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Breaking(times=2, silent=True))
    done = bench.run()
    types = [event.type for event in bench.store.read(done.id)]
    assert types.count("message_start") == 1


def test_a_watcher_sees_where_an_answer_is_written_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = ProgressDisplay(PlainScreen(), show_text=True)
    start = MessageStart(message_id="m", conversation_id="c")
    for event in (start, TextDelta(content="# Te"), start, TextDelta(content="# Tea\n")):
        progress.emit(event)
    assert capsys.readouterr().err.splitlines() == [
        "    # Te", "  … The answer was interrupted and is written again.", "    # Tea",
    ]  # fmt: skip


@dataclass
class Deaf:
    """A store that cannot be reached to tell of a wait."""

    refused: list[RunEvent] = field(default_factory=list)

    def emit(self, event: RunEvent) -> None:
        if isinstance(event, RetryScheduled):
            self.refused.append(event)
            raise UnavailableError("No store.")


def test_a_wait_that_cannot_be_told_is_waited_all_the_same(tmp_path: Path) -> None:
    bench, deaf = Bench(tmp_path, scripted([BUSY, REPORT])), Deaf()
    bench.deps = replace(bench.deps, sinks_for=lambda _: [deaf])

    assert bench.run().status == "completed"
    assert (len(deaf.refused), bench.clock.slept) == (1, [1.0])
