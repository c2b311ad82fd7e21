"""A resume goes beyond what ended the run before it."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from idea_explorer.domain.errors import NetworkError, UpstreamTimeoutError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import Block
from idea_explorer.domain.transcript import ConversationRestarted, Instruction
from idea_explorer.observability.log_sink import LogSink
from idea_explorer.ports import ModelRequest
from idea_explorer.usecases.explore import explore
from tests.fakes.clock import ManualClock
from tests.fakes.deps import PRICED
from tests.fakes.engine import Bench, RecordedLog
from tests.fakes.models import Reply, ScriptedModel, calls, raw, says, scripted

READ_A = calls(("read_research", {"path": "a.md"}))
READ_B = calls(("read_research", {"path": "b.md"}))
READ_L = calls(("read_research", {"path": "l.md"}))
READ_M = calls(("read_research", {"path": "m.md"}))
WHOLE = says("a, and how it is made", "max_tokens")
MISSED = calls(("read_research", {"path": "missing.md"}))


class Killed(BaseException):
    pass


def resumes(bench: Bench, exploration: Exploration) -> list[int | None]:
    entries = bench.entries(exploration)
    return [e.run for e in entries if isinstance(e, Instruction) and e.purpose == "resume"]


def bench_with_documents(folder: Path, *replies: Reply, clock: ManualClock | None = None) -> Bench:
    bench = Bench(folder, scripted(replies), clock=clock)
    bench.write("a.md", "tea")
    bench.write("b.md", "coffee")
    return bench


def out_of_time_before_the_first_answer(folder: Path) -> tuple[Bench, Exploration]:
    clock = ManualClock()

    def hangs(request: ModelRequest, number: int) -> Reply:
        clock.pass_time(80 if number == 0 else 50)
        return UpstreamTimeoutError("Claude did not answer in time.")

    bench = bench_with_documents(folder, clock=clock)
    bench.with_model(ScriptedModel(hangs))
    ended = bench.run(deadline_seconds=120)
    assert (ended.status, ended.run.stats.steps) == ("failed", 0)
    return bench, ended


def test_a_run_that_ended_before_its_first_answer_gathers_when_resumed(tmp_path: Path) -> None:
    bench, ended = out_of_time_before_the_first_answer(tmp_path)
    bench.with_model(model := scripted([READ_A, says("# Tea")]))

    done = bench.resume(ended)

    assert model.writing == [False, False]
    assert (done.run.outcome, resumes(bench, done)) == ("completed", [2])


def test_a_resumed_run_that_is_killed_is_not_told_twice(tmp_path: Path) -> None:
    bench, ended = out_of_time_before_the_first_answer(tmp_path)

    def killed(request: ModelRequest, number: int) -> Reply:
        raise Killed

    bench.with_model(ScriptedModel(killed))
    with suppress(Killed):
        bench.resume(ended)
    bench.with_model(scripted([says("# Tea")]))

    done = explore(ended.id, 2, bench.deps)

    assert (done.run.outcome, resumes(bench, done)) == ("completed", [2])


def test_a_search_that_was_pending_at_a_cancel_is_finished_before_anything_is_said(
    tmp_path: Path,
) -> None:
    search: Block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    bench = bench_with_documents(tmp_path)

    def cancelled_while_searching(request: ModelRequest, number: int) -> Reply:
        if number == 0:
            return raw(search, stop_reason="pause_turn")
        bench.store.request_cancel(queued.id)
        return NetworkError("The stream broke off.")

    bench.with_model(ScriptedModel(cancelled_while_searching))
    queued = bench.submit()
    ended = bench.publish(explore(queued.id, 1, bench.deps))
    assert ended.status == "cancelled"
    bench.with_model(model := scripted([says("# Tea")]))

    done = bench.resume(ended)

    assert done.run.outcome == "completed"
    assert model.requests[0].messages[-1]["role"] == "assistant"


def test_a_search_that_the_output_limit_cut_off_does_not_keep_a_resume_from_gathering(
    tmp_path: Path,
) -> None:
    search: Block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    begun: Block = {"type": "text", "text": "# Te"}
    cut = raw(begun, search, stop_reason="max_tokens")
    bench = bench_with_documents(tmp_path, cut, cut)
    ended = bench.run()
    assert (ended.status, ended.run.stats.stop_reason) == ("partial", "max_tokens")
    bench.with_model(model := scripted([READ_A, says("# Tea")]))

    done = bench.resume(ended)

    assert (done.run.outcome, resumes(bench, done)) == ("completed", [2])
    assert model.writing[0] is False


def test_a_resume_on_a_day_that_can_pay_for_too_little_keeps_conversation_and_report(
    tmp_path: Path,
) -> None:
    bench = bench_with_documents(tmp_path, READ_L, READ_M, says("# Te", "max_tokens"), WHOLE)
    for name in ("l.md", "m.md"):
        bench.write(name, "tea leaf " * 5_000)
    ended = bench.run(max_steps=4)
    assert ended.status == "partial"
    bench.with_model(model := scripted([says("# Nothing is known")]))

    little = replace(PRICED, daily_cost_usd=0.03, spend=bench.store)
    bench.deps = replace(bench.deps, policy=little)

    done = bench.resume(ended)

    assert model.requests == []
    assert not [e for e in bench.entries(done) if isinstance(e, ConversationRestarted)]
    assert done.run.stats.stop_reason == "budget"
    assert bench.store.load_report(done.id).startswith("# Te")


def test_an_answer_that_writes_is_no_step_without_evidence(tmp_path: Path) -> None:
    cut = says("# Te", "max_tokens")
    bench = bench_with_documents(tmp_path, READ_A, cut, cut)
    ended = bench.run(max_steps=2)
    assert (ended.status, ended.run.stats.stop_reason) == ("partial", "max_tokens")
    bench.with_model(model := scripted([READ_B, says("# Tea and coffee")]))

    done = bench.resume(ended, max_steps=5)

    assert model.writing == [False, False]
    assert (done.run.outcome, done.run.stats.stop_reason) == ("completed", "end_turn")


def test_a_run_that_stalled_has_a_new_chance_when_resumed(tmp_path: Path) -> None:
    for name, stalling in {"barren": [READ_A, MISSED, MISSED], "again": [READ_A, READ_A]}.items():
        bench = bench_with_documents(tmp_path / name, *stalling, NetworkError("gone"))
        ended = bench.run(max_steps=9)
        assert ended.status == "failed"
        bench.with_model(model := scripted([READ_B, says("# Tea and coffee")]))

        bench.resume(ended, max_steps=5)

        assert model.writing == [False, False]


def test_the_log_names_the_step_of_every_call_also_after_a_kill(tmp_path: Path) -> None:
    bench = bench_with_documents(tmp_path)
    log = RecordedLog()
    bench.deps = replace(bench.deps, sinks_for=lambda e: [LogSink(log, e)])

    def killed(request: ModelRequest, number: int) -> Reply:
        if number == 2:
            raise Killed
        return [READ_A, READ_B][number]

    bench.with_model(ScriptedModel(killed))
    queued = bench.submit()
    with suppress(Killed):
        explore(queued.id, 1, bench.deps)
    bench.with_model(scripted([MISSED, says("# Tea")]))

    explore(queued.id, 1, bench.deps)

    lines = [(line["step"], line.get("path")) for line in log.of("tool_call")]
    assert lines == [(1, "a.md"), (2, "b.md"), (3, "missing.md")]
