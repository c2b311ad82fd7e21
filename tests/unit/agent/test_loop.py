"""The loop, move by move, with a scripted model and the real tools."""

import json
import typing
from pathlib import Path

import pytest
from anthropic.types import StopReason

from idea_explorer.agent.moves import AFTER
from idea_explorer.domain.errors import (
    AuthFailedError,
    NetworkError,
    RateLimitedError,
    UnavailableError,
)
from idea_explorer.domain.events import (
    MessageEnd,
    StatusChanged,
    StepFinished,
    TextDelta,
    ToolCallEnd,
    ToolCallError,
    ToolCallStart,
)
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.transcript import ModelCallFailed
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import Filter, ModelAnswer, ModelRequest
from tests.fakes.clock import ManualClock
from tests.fakes.engine import Bench
from tests.fakes.models import (
    A_CALL,
    ScriptedModel,
    calls,
    last_texts,
    raw,
    says,
    scripted,
    tool_results,
)

REPORT = "# A tea room\n\n## Verdict\n\n**Verdict: PASS**"


def bench(tmp_path: Path, *replies: object) -> Bench:
    return Bench(tmp_path, scripted(replies))  # type: ignore[arg-type]


def requests(bench: Bench) -> list[typing.Any]:
    return bench.engine.model.requests  # type: ignore[attr-defined, no-any-return]


def test_every_stop_reason_of_the_sdk_has_a_rule() -> None:
    assert set(AFTER) == set(typing.get_args(StopReason))


def test_a_report_at_once_completes_in_one_step(tmp_path: Path) -> None:
    done = bench(tmp_path, says(REPORT)).run()
    assert (done.status, done.run.stats.steps, done.run.verdict) == ("completed", 1, "PASS")


def test_a_running_record_tells_its_steps_and_its_cost(tmp_path: Path) -> None:
    listed: list[tuple[int, float | None]] = []

    def answered(_: ModelRequest, number: int) -> ModelAnswer:
        [running] = b.store.page("tester", Filter(), limit=1, cursor=None).explorations
        assert running.status == "running"
        listed.append((running.run.stats.steps, running.run.stats.cost_usd))
        return says(REPORT) if number == 2 else calls(("read_research", {"path": f"{number}.md"}))

    b = Bench(tmp_path, ScriptedModel(answered))
    done = b.run()

    assert done.run.stats.cost_usd
    each = done.run.stats.cost_usd / 3
    assert listed == [(0, None), (1, pytest.approx(each)), (2, pytest.approx(2 * each))]


def test_tools_of_one_step_answer_in_one_message_in_the_order_of_the_calls(tmp_path: Path) -> None:
    b = bench(
        tmp_path,
        calls(
            ("read_research", {"path": "a.md"}),
            ("read_research", {}),
            ("no_such_tool", {}),
            ("read_research", {"path": "b.md"}),
        ),
        says(REPORT),
    )
    b.write("a.md", "first")
    b.write("b.md", "second")
    done = b.run(collect_tool_stats=True)
    results = tool_results(requests(b)[1])
    assert [r["tool_use_id"] for r in results] == [
        "call_read_research_0", "call_read_research_1", "call_no_such_tool_2", "call_read_research_3",
    ]  # fmt: skip
    assert "'first'" in str(results[0]["content"])
    assert "requires 'path' parameter" in str(results[1]["content"])
    assert "Unknown tool: no_such_tool" in str(results[2]["content"])
    assert "'second'" in str(results[3]["content"])
    assert [r.get("is_error") for r in results] == [None, True, True, None]
    assert [r.error_type for r in done.run.stats.tool_calls] == [
        None, "invalid_arguments", "unknown_tool", None,
    ]  # fmt: skip


def test_the_fifth_step_writes_with_the_tools_left_as_they_were(tmp_path: Path) -> None:
    steps = [calls(("read_research", {"path": f"{n}.md"})) for n in range(4)]
    b = bench(tmp_path, *steps, says(REPORT))
    for n in range(4):
        b.write(f"{n}.md", f"document {n}")
    done = b.run()
    assert [r.writing for r in requests(b)] == [False] * 4 + [True]
    assert not any(r.tools_off for r in requests(b))
    assert all(r.tools == requests(b)[0].tools for r in requests(b))
    assert "last step" in last_texts(requests(b)[4])[-1]
    assert (done.status, done.run.stats.steps, done.run.stats.stop_reason) == (
        "completed",
        5,
        "max_steps",
    )


def test_each_request_extends_the_one_before(tmp_path: Path) -> None:
    b = bench(tmp_path, calls(("list_research", {})), says(REPORT))
    b.write("a.md", "x")
    b.run()
    first, second = requests(b)
    assert second.messages[: len(first.messages)] == first.messages
    assert (second.system, second.tools, second.model_id) == (
        first.system,
        first.tools,
        first.model_id,
    )


def test_usage_is_summed_over_all_steps_with_caches_and_searches(tmp_path: Path) -> None:
    usage = Usage(
        input_tokens=1, output_tokens=2, cache_write_tokens=3, cache_read_tokens=4, searches=5
    )
    b = bench(tmp_path, calls(("list_research", {}), usage=usage), says(REPORT, usage=usage))
    b.write("a.md", "x")
    stats = b.run().run.stats
    assert stats.usage == usage + usage
    expected = 2 * ((1 * 2.0 + 2 * 10.0 + 3 * 2.5 + 4 * 0.2) / 1e6 + 5 * 0.01)
    assert stats.cost_usd == pytest.approx(expected, abs=1e-6)


def search_blocks(call: str, *, pending: bool = False) -> list[Block]:
    use: Block = {
        "type": "server_tool_use",
        "id": call,
        "name": "web_search",
        "input": {"query": "q"},
    }
    found: Block = {
        "type": "web_search_tool_result",
        "tool_use_id": call,
        "content": [
            {"type": "web_search_result", "url": f"https://example.org/{call}", "title": "T",
             "encrypted_content": call, "page_age": None}
        ],
    }  # fmt: skip
    return [use] if pending else [use, found]


def test_searches_at_anthropic_are_among_the_tool_calls(tmp_path: Path) -> None:
    failed: list[Block] = [
        search_blocks("s2", pending=True)[0],
        {"type": "web_search_tool_result", "tool_use_id": "s2",
         "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"}},
    ]  # fmt: skip
    text: Block = {"type": "text", "text": REPORT}
    b = bench(tmp_path, raw(*search_blocks("s1"), *failed, text, stop_reason="end_turn"))
    done = b.run(collect_tool_stats=True)
    assert done.stats_json()["tool_calls"] == [
        {"name": "web_search", "durationMs": 0, "ok": True},
        {"name": "web_search", "durationMs": 0, "ok": False, "errorType": "unavailable"},
    ]
    assert done.publication.path is not None
    (logged,) = json.loads(
        Path(done.publication.path).with_name("exploration-log.json").read_text("utf-8")
    )
    assert [call["name"] for call in logged["toolCalls"]] == ["web_search", "web_search"]


def test_a_paused_turn_goes_back_unchanged_and_nothing_runs(tmp_path: Path) -> None:
    paused = raw(*search_blocks("s1", pending=True), stop_reason="pause_turn")
    rest = raw(*search_blocks("s1")[1:], {"type": "text", "text": REPORT}, stop_reason="end_turn")
    b = bench(tmp_path, paused, rest)
    done = b.run()
    assert requests(b)[1].messages[-1] == {"role": "assistant", "content": paused.content}
    assert (done.status, done.run.stats.steps) == ("completed", 2)


def test_a_pending_search_is_finished_before_the_tools_go_off(tmp_path: Path) -> None:
    paused = raw(*search_blocks("s1", pending=True), stop_reason="pause_turn")
    rest = raw(*search_blocks("s1")[1:], stop_reason="pause_turn")
    b = bench(tmp_path, paused, rest, says(REPORT))
    done = b.run(max_steps=2)
    assert [r.writing for r in requests(b)] == [False, False, True]
    assert done.status == "completed"


def test_a_turn_that_never_stops_pausing_is_written_up_from_the_evidence(tmp_path: Path) -> None:
    paused = raw(*search_blocks("s1"), *search_blocks("s2", pending=True), stop_reason="pause_turn")
    b = bench(tmp_path, *[paused] * 4, says(REPORT))
    done = b.run(max_steps=10)
    final = requests(b)[-1]
    assert final.writing
    assert len(final.messages) == 1
    assert "https://example.org/s1" in last_texts(final)[-1]
    assert done.status == "completed"


def test_text_cut_at_the_output_limit_is_continued_once(tmp_path: Path) -> None:
    b = bench(tmp_path, says("# A tea", "max_tokens"), says(" room\n\nAll of it."))
    done = b.run()
    assert done.status == "completed"
    assert b.store.load_report(done.id) == "# A tea room\n\nAll of it."


def test_text_cut_twice_is_kept_as_partial(tmp_path: Path) -> None:
    b = bench(tmp_path, says("# A tea", "max_tokens"), says(" room", "max_tokens"))
    done = b.run()
    assert (done.status, done.run.stats.stop_reason, done.run.stats.steps) == (
        "partial",
        "max_tokens",
        2,
    )
    assert b.store.load_report(done.id) == "# A tea room"


def test_a_tool_call_cut_at_the_output_limit_never_runs(tmp_path: Path) -> None:
    cut = raw(
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "t", "name": "read_research", "input": {"path": "a.md"}},
        stop_reason="max_tokens",
    )
    b = bench(tmp_path, cut, says(REPORT))
    b.run()
    assert not b.seen.of(ToolCallStart)
    assert "tool_use" not in str(requests(b)[1].messages)


def test_a_refusal_fails_with_its_reason_and_runs_no_tool(tmp_path: Path) -> None:
    refused = raw(
        {"type": "tool_use", "id": "t", "name": "list_research", "input": {}},
        stop_reason="refusal",
        detail="violates the policy",
    )
    b = bench(tmp_path, refused)
    done = b.run()
    assert done.status == "failed"
    assert done.run.receipt is not None
    assert "violates the policy" in done.run.receipt.message
    assert done.run.receipt.resume is None
    assert not b.seen.of(ToolCallStart)
    assert done.publication.path is None


def test_an_overflowing_context_is_written_up_in_a_new_conversation(tmp_path: Path) -> None:
    b = bench(
        tmp_path,
        calls(("read_research", {"path": "a.md"})),
        raw({"type": "text", "text": "x"}, stop_reason="model_context_window_exceeded"),
        says(REPORT),
    )
    b.write("a.md", "what the team knows")
    done = b.run()
    last = requests(b)[-1]
    assert last.writing
    assert len(last.messages) == 1
    assert "what the team knows" in last_texts(last)[-1]
    assert "A tea room" in last_texts(last)[0]
    assert done.status == "completed"


def test_an_unknown_stop_reason_counts_as_done(tmp_path: Path) -> None:
    assert bench(tmp_path, says(REPORT, "something_new")).run().status == "completed"


def test_an_empty_answer_is_asked_for_once_more_and_never_published(tmp_path: Path) -> None:
    b = bench(tmp_path, says("  "), says(""), says("\n"))
    done = b.run()
    assert [r.writing for r in requests(b)] == [False, True, True]
    assert (done.status, done.publication.path) == ("failed", None)
    assert not list((tmp_path / "ideas").iterdir())


def test_preamble_before_the_first_heading_is_left_out(tmp_path: Path) -> None:
    b = bench(tmp_path, says(f"I will now write the report.\n\n{REPORT}"))
    done = b.run()
    assert b.store.load_report(done.id) == REPORT


def test_citations_are_kept_as_links(tmp_path: Path) -> None:
    cited: Block = {
        "type": "text",
        "text": "Tea is popular.",
        "citations": [
            {"type": "web_search_result_location", "url": "https://example.org/a b", "title": "T",
             "cited_text": "…", "encrypted_index": "…"}
        ],
    }  # fmt: skip
    b = bench(tmp_path, raw({"type": "text", "text": "# T\n\n"}, cited, stop_reason="end_turn"))
    done = b.run()
    assert "Tea is popular. [[1]](https://example.org/a%20b)" in b.store.load_report(done.id)


def test_searches_that_find_something_new_count_as_evidence(tmp_path: Path) -> None:
    searching = [
        raw(
            *search_blocks(f"s{n}"),
            {
                "type": "tool_use",
                "id": f"t{n}",
                "name": "read_research",
                "input": {"path": f"m{n}.md"},
            },
            stop_reason="tool_use",
        )
        for n in range(4)
    ]
    done = bench(tmp_path, *searching, says(REPORT)).run(max_steps=10)
    assert done.run.stats.steps == 5


def test_a_hundred_identical_bad_calls_run_nothing_and_end_in_writing(tmp_path: Path) -> None:
    missing: JsonObject = {"path": None}
    b = bench(tmp_path, calls(*[("read_research", missing)] * 100), says(REPORT))
    done = b.run()
    results = [str(r["content"]) for r in tool_results(requests(b)[1])]
    assert sum("requires 'path' parameter" in r for r in results) == 1
    assert sum("call again; it was not executed" in r for r in results) == 99
    assert done.run.stats.steps == 2
    assert len(b.log.of("Tool argument validation failed")) == 100


def test_a_transient_model_error_is_tried_again(tmp_path: Path) -> None:
    b = bench(tmp_path, UnavailableError("529"), NetworkError("reset"), says(REPORT))
    done = b.run()
    assert (done.status, done.run.stats.steps) == ("completed", 1)
    assert sum(b.clock.slept) == 1.0 + 2.0


def test_a_rate_limit_waits_as_long_as_it_says(tmp_path: Path) -> None:
    b = bench(tmp_path, RateLimitedError("429", retry_after=7), says(REPORT))
    assert b.run().status == "completed"
    assert sum(b.clock.slept) == 7


def test_a_cancel_ends_the_wait_for_the_next_attempt(tmp_path: Path) -> None:
    class CancellingClock(ManualClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if sum(self.slept) == 3:
                (run,) = b.store.page("tester", Filter(), limit=1, cursor=None).explorations
                b.store.request_cancel(run.id)

    limited = scripted([RateLimitedError("429", retry_after=60), says(REPORT)])
    b = Bench(tmp_path, limited, clock=CancellingClock())

    assert b.run().status == "cancelled"
    assert sum(b.clock.slept) <= 5


def test_a_rate_limit_longer_than_the_deadline_fails_at_once(tmp_path: Path) -> None:
    b = bench(tmp_path, RateLimitedError("Too many.", retry_after=3_600))
    done = b.run()
    assert (done.status, b.clock.slept) == ("failed", [])
    assert done.run.receipt is not None
    assert done.run.receipt.code == "RATE_LIMITED"


def test_a_wrong_key_is_not_tried_again(tmp_path: Path) -> None:
    b = bench(tmp_path, AuthFailedError("Claude refused the key.", hint="Check it."))
    done = b.run()
    assert (done.status, len(requests(b))) == ("failed", 1)
    assert done.run.receipt is not None
    assert done.run.receipt.message == "Claude refused the key. Check it."


def test_text_of_a_broken_run_is_kept_as_a_partial_report(tmp_path: Path) -> None:
    b = bench(
        tmp_path, calls(("list_research", {}), text="# Notes so far"), AuthFailedError("Revoked.")
    )
    b.write("a.md", "x")
    done = b.run()
    assert done.status == "partial"
    assert done.publication.path is not None
    assert "# Notes so far" in Path(done.publication.path).read_text("utf-8")


LOOKING: Block = {"type": "text", "text": "Looking."}


@pytest.mark.parametrize(
    "remark",
    [
        calls(("list_research", {}), text="Looking."),
        raw(LOOKING, *search_blocks("s1", pending=True), stop_reason="pause_turn"),
    ],
)
def test_remarks_beside_calls_are_no_report(tmp_path: Path, remark: ModelAnswer) -> None:
    b = bench(tmp_path, remark, AuthFailedError("Revoked."))
    done = b.run()
    assert (done.status, done.publication.path) == ("failed", None)
    assert done.run.receipt is not None
    assert not done.run.receipt.has_partial_text
    assert not list((tmp_path / "ideas").iterdir())

    b.with_model(scripted([says(REPORT)]))
    assert b.publish(b.resume(done)).status == "completed"


def test_a_remark_in_place_of_the_report_is_not_published(tmp_path: Path) -> None:
    done = bench(tmp_path, calls(("list_research", {}), text="Looking.")).run(max_steps=1)
    assert (done.status, done.run.stats.stop_reason, done.publication.path) == (
        "failed",
        "empty_answer",
        None,
    )


def test_a_broken_call_is_metered_by_what_had_arrived(tmp_path: Path) -> None:
    b = bench(tmp_path, says(REPORT))

    class Breaks:
        def answer(self, request: object, watcher: typing.Any, deadline: object) -> object:
            watcher.usage(A_CALL)
            watcher.text("x" * 100)
            raise NetworkError("cut")

    b.with_model(Breaks())  # type: ignore[arg-type]
    done = b.explore()
    cuts = [entry for entry in b.entries(done) if isinstance(entry, ModelCallFailed)]
    assert [cut.usage.output_tokens for cut in cuts] == [150] * 5
    assert done.run.stats.usage.input_tokens == 500


def test_below_the_reserve_it_writes_and_ends_partial(tmp_path: Path) -> None:
    b = bench(tmp_path, calls(("list_research", {})), says(REPORT))
    b.write("a.md", "x")

    def slow(request: object, number: int) -> object:
        b.clock.pass_time(40 if number == 0 else 1)
        return [calls(("list_research", {})), says(REPORT)][number]

    model = scripted([])
    model.script = slow  # type: ignore[assignment]
    b.with_model(model)
    done = b.run(deadline_seconds=60)  # 36 s of it are kept for writing
    assert model.writing == [False, True]
    assert (done.status, done.run.stats.stop_reason) == ("partial", "deadline")
    assert model.requests[1].max_tokens == 16_384
    assert "keep it under 300 words" in last_texts(model.requests[1])[-1]


def test_cancelling_keeps_what_is_there(tmp_path: Path) -> None:
    b = bench(tmp_path, says(""))

    def cancel(request: object, number: int) -> object:
        for exploration in b.store.page("tester", Filter(), limit=1, cursor=None).explorations:
            if number == 1:
                b.store.request_cancel(exploration.id)
                b.clock.pass_time(1)
        return calls(("list_research", {}), text="# So far")

    model = scripted([])
    model.script = cancel  # type: ignore[assignment]
    b.with_model(model)
    done = b.run()
    assert done.status == "cancelled"
    assert "# So far" in b.store.load_report(done.id)


def test_events_tell_the_whole_story_in_order(tmp_path: Path) -> None:
    b = bench(
        tmp_path, calls(("read_research", {"path": "a.md"}), ("read_research", {"path": "b.md"})),
        says(REPORT),
    )  # fmt: skip
    b.write("a.md", "x")
    done = b.run()
    stored = [event.type for event in b.store.read(done.id)]
    assert stored[:3] == ["status_changed", "message_start", "step_finished"]
    assert stored[-3:] == ["step_finished", "message_end", "status_changed"]
    assert len(b.seen.of(ToolCallEnd)) == len(b.seen.of(ToolCallError)) == 1
    assert [e.step for e in b.seen.of(StepFinished)] == [1, 2]  # type: ignore[union-attr]
    assert [e.to for e in b.seen.of(StatusChanged)] == ["running", "completed"]  # type: ignore[union-attr]
    assert len(b.seen.of(MessageEnd)) == 1
    assert "".join(e.content for e in b.seen.of(TextDelta)) == REPORT  # type: ignore[union-attr]


def test_arguments_that_no_store_can_hold_are_replaced_and_the_run_goes_on(tmp_path: Path) -> None:
    b = bench(tmp_path, calls(("re\ud800ad", {"pa\udfffth": ["\ud800"]})), says(REPORT))
    done = b.run()
    assert done.status == "completed"
    assert "Unknown tool: re\ufffdad" in str(tool_results(requests(b)[1])[0]["content"])
