"""What a run does with the end of its time."""

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.agent.toolset import Arguments, Tool, Toolset
from idea_explorer.domain.deadline import TaskStart
from idea_explorer.domain.errors import RateLimitedError
from idea_explorer.domain.json import Block
from idea_explorer.domain.tools import ToolResult
from idea_explorer.ports import ModelAnswer, ModelRequest
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.opening import enter_run
from tests.fakes.clock import ManualClock
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, calls, raw, says, scripted


def test_a_search_that_does_not_end_in_time_is_given_up_for_a_report(tmp_path: Path) -> None:
    clock = ManualClock()
    pending: Block = {
        "type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tea"},
    }  # fmt: skip

    def script(request: ModelRequest, number: int) -> ModelAnswer:
        assert number < 3
        if number == 0:
            return raw(pending, stop_reason="pause_turn")
        clock.pass_time(80 if number == 1 else 1)
        return says("# Report\n\nFrom what there was.")

    model = ScriptedModel(script)
    done = Bench(tmp_path, model, clock=clock).run(deadline_seconds=120)

    assert (done.status, done.run.stats.stop_reason) == ("partial", "deadline")
    assert model.writing == [False, False, True]
    assert len(model.requests[-1].messages) == 1  # a conversation of its own


def test_a_rate_limit_that_outlasts_gathering_is_waited_for_and_then_written(
    tmp_path: Path,
) -> None:
    limited = RateLimitedError("Too many.", retry_after=75)
    model = scripted([calls(("list_research", {})), limited, says("# Tea\n\nSteeped.")])
    b = Bench(tmp_path, model)

    done = b.run(deadline_seconds=120)  # 48 s of it are kept for writing

    assert (done.status, done.run.stats.stop_reason) == ("partial", "deadline")
    assert (model.writing, sum(b.clock.slept)) == ([False, False, True], 75)
    assert b.store.load_report(done.id) == "# Tea\n\nSteeped."


def test_a_rate_limit_that_leaves_too_little_time_to_write_is_not_waited_for(
    tmp_path: Path,
) -> None:
    limited = RateLimitedError("Too many.", retry_after=100)
    b = Bench(tmp_path, model := scripted([calls(("list_research", {})), limited]))

    done = b.run(deadline_seconds=120)

    assert (done.status, b.clock.slept, len(model.requests)) == ("failed", [], 2)


def test_a_run_taken_up_after_its_deadline_calls_nobody(tmp_path: Path) -> None:
    model = scripted([says("# Too late")])
    b = Bench(tmp_path, model)
    queued = b.submit(deadline_seconds=60)
    at = b.clock.now()
    b.store.take_over(queued.id, lambda e: e.started(at=at).replace(deadline_at=at))

    done = b.publish(explore(queued.id, 1, b.deps))

    assert done.status == "timed_out"
    assert done.run.receipt is not None
    assert done.run.receipt.code == "TIMEOUT"
    assert model.requests == []


def test_a_tool_that_hangs_leaves_the_time_to_write(tmp_path: Path) -> None:
    release = threading.Event()

    def hang(arguments: Arguments) -> ToolResult:
        release.wait(60)
        return ToolResult.success({}, summary="")

    tools = Toolset([Tool("slow", "Waits.", Arguments, hang, {}, time_limit=60.0)])
    model = scripted([calls(("slow", {})), says("# Report\n\nWithout it.")])
    clock = SystemClock()
    b = Bench(tmp_path, model, toolset=tools)
    queued = b.submit(deadline_seconds=20)  # 12 s of it are kept for writing
    ends = clock.now() + timedelta(seconds=12.3)
    b.store.take_over(queued.id, lambda e: e.started(at=clock.now()).replace(deadline_at=ends))

    done = explore(queued.id, 1, replace(b.deps, clock=clock))
    release.set()

    assert (done.run.outcome, done.run.stats.stop_reason) == ("partial", "deadline")
    assert [record.error_type for record in done.run.stats.tool_calls] == ["timeout"]
    assert model.writing == [False, True]
    assert done.run.finished_at is not None
    assert done.run.finished_at < ends


@pytest.mark.parametrize(
    ("entered_ago", "retries", "left"),
    [
        (6.5, 0, 113.5),  # a cold start
        (-2.0, 0, 120.0),  # the function's clock is behind
        (500.0, 0, 0.0),
        (
            500.0,
            3,
            110.0,
        ),  # throttled for minutes, then started: the task has its whole timeout again
        (4.0, 1, 116.0),
    ],
)
def test_what_a_start_takes_is_part_of_the_deadline(
    tmp_path: Path, entered_ago: float, retries: int, left: float
) -> None:
    b = Bench(tmp_path, scripted([says("# Report")]))
    queued = b.submit(deadline_seconds=120)
    now = b.clock.now()

    task = TaskStart(now - timedelta(seconds=entered_ago), retries)
    begun = explore(queued.id, 1, b.deps, task)

    assert begun.run.deadline_at == now + timedelta(seconds=left)


def test_a_retry_keeps_the_deadline_of_the_first_attempt(tmp_path: Path) -> None:
    b = Bench(tmp_path, scripted([says("# Report")]))
    queued = b.submit(deadline_seconds=120)
    entered = b.clock.now()
    ends = entered + timedelta(seconds=120)
    b.store.take_over(queued.id, lambda e: enter_run(e, 1, entered, TaskStart(entered)))
    b.clock.sleep(30)

    again = explore(queued.id, 1, b.deps, TaskStart(entered, retries=1))

    assert again.run.deadline_at == ends


def test_a_cold_start_after_an_approval_leaves_no_more_than_the_task_does(tmp_path: Path) -> None:
    b = Bench(tmp_path, scripted([]))
    queued = b.submit(deadline_seconds=120)
    begun = enter_run(queued, 1, b.clock.now())
    b.clock.sleep(2)  # it proposed a change after two seconds
    waiting = begun.moved("awaiting_approval", at=b.clock.now(), awaiting_since=b.clock.now())
    b.clock.sleep(3_600)
    entered = b.clock.now()
    b.clock.sleep(6)

    again = enter_run(waiting, 1, b.clock.now(), TaskStart(entered))

    assert again.run.deadline_at == entered + timedelta(seconds=120)
