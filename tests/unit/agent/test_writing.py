"""Asking for the report: in words, with the tools left on, and once more where what comes is no report."""

from pathlib import Path

import pytest

from idea_explorer.domain.errors import RejectedError
from idea_explorer.domain.json import Block
from idea_explorer.domain.transcript import Instruction, ModelCallStarted
from idea_explorer.domain.turns import build_messages
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest
from tests.fakes.deps import PRICED
from tests.fakes.engine import Bench
from tests.fakes.models import (
    ScriptedModel,
    calls,
    last_texts,
    raw,
    says,
    scripted,
    tool_results,
)

REPORT = "# A tea room\n\n## Verdict\n\n**Verdict: PASS**"
THOUGHT: Block = {"type": "thinking", "thinking": "", "signature": "s"}
LOOK = calls(("list_research", {}))
LOW = {"role": "system", "content": [], "output_config": {"effort": "low"}}
MEDIUM = {"role": "system", "content": [], "output_config": {"effort": "medium"}}


def bench(tmp_path: Path, *replies: ModelAnswer | Exception) -> tuple[Bench, ScriptedModel]:
    b = Bench(tmp_path, model := scripted(replies))
    b.write("a.md", "x")
    return b, model


def test_writing_is_asked_for_in_words_and_nothing_else_changes(tmp_path: Path) -> None:
    b, model = bench(tmp_path, LOOK, says(REPORT))
    b.run(max_steps=2)
    first, last = model.requests
    assert "this is the last step" in last_texts(last)[-1]
    assert (last.tools, last.tools_off, last.thinking, last.effort) == (
        first.tools, False, first.thinking, first.effort,
    )  # fmt: skip
    assert list(last.messages[: len(first.messages)]) == list(first.messages)


def test_a_call_instead_of_the_report_is_answered_twice_and_then_forbidden(tmp_path: Path) -> None:
    b, model = bench(tmp_path, LOOK, LOOK, LOOK, says(REPORT))
    done = b.run(max_steps=2)
    assert model.tools_off == [False, False, False, True]
    for request in model.requests[2:]:
        (result,) = tool_results(request)
        assert "Write the complete report now" in str(result["content"])
        assert result["is_error"]
    assert (done.status, done.run.stats.steps) == ("completed", 4)
    assert [call.name for call in done.run.stats.tool_calls] == ["list_research"]


def test_with_the_tools_off_no_call_is_answered(tmp_path: Path) -> None:
    b, model = bench(tmp_path, LOOK, LOOK, LOOK, LOOK, LOOK)
    done = b.run(max_steps=2)
    assert model.tools_off == [False, False, False, True, True]
    sent = [b["type"] for m in model.requests[4].messages for b in m["content"]]  # type: ignore[union-attr, index, call-overload]
    assert sent.count("tool_use") == sent.count("tool_result") == 3
    assert (done.status, done.run.stats.stop_reason) == ("failed", "empty_answer")


def test_a_budget_that_bears_no_search_while_writing_turns_the_tools_off(tmp_path: Path) -> None:
    spent = Usage(cache_write_tokens=6_000, input_tokens=9_000, output_tokens=4_000, searches=1)
    b, model = bench(tmp_path, calls(("list_research", {}), usage=spent), says(REPORT))
    b.run(max_steps=2, max_cost_usd=0.17)
    assert (model.writing, model.tools_off) == ([False, True], [False, True])


@pytest.mark.parametrize("stop_reason", ["end_turn", "max_tokens"])
def test_a_report_that_is_all_thinking_is_asked_for_once_more(
    tmp_path: Path, stop_reason: str
) -> None:
    b, model = bench(tmp_path, LOOK, raw(THOUGHT, stop_reason=stop_reason), says(REPORT))
    done = b.run(max_steps=2, deadline_seconds=840)
    assert (done.status, done.run.stats.stop_reason) == ("completed", "max_steps")
    assert model.writing == [False, True, True]
    assert "Do not think it through again" in last_texts(model.requests[2])[-1]
    assert [r.max_tokens for r in model.requests[1:]] == [16_384, 32_768]
    assert THOUGHT not in [b for m in model.requests[2].messages for b in m["content"]]  # type: ignore[union-attr]


def test_one_that_is_all_thinking_again_fails_and_publishes_nothing(tmp_path: Path) -> None:
    b, _ = bench(tmp_path, LOOK, *[raw(THOUGHT, stop_reason="max_tokens")] * 2)
    done = b.run(max_steps=2)
    assert (done.status, done.publication.path) == ("failed", None)
    assert done.run.receipt is not None
    assert done.run.receipt.resume == f"idea resume {done.id}"


def test_a_deadline_is_told_in_words_and_takes_no_tokens(tmp_path: Path) -> None:
    b, model = bench(tmp_path, LOOK, says(REPORT))
    b.run(max_steps=2, deadline_seconds=120)
    assert model.requests[1].max_tokens == 16_384
    assert "keep it under 2,300 words" in last_texts(model.requests[1])[-1]
    b, model = bench(tmp_path / "long", LOOK, says(REPORT))
    b.run(max_steps=2, deadline_seconds=840)
    assert "little time" not in last_texts(model.requests[1])[-1]


def test_a_conversation_that_is_refused_is_given_up_for_its_evidence(tmp_path: Path) -> None:
    b, model = bench(
        tmp_path, LOOK, RejectedError("bound to a different conversation"), says(REPORT)
    )
    done = b.run()
    assert (done.status, done.run.stats.stop_reason) == ("completed", "rejected")
    (message,) = model.requests[2].messages
    assert "a.md" in str(message)
    assert (model.requests[2].tools_off, model.requests[2].effort) == (True, "low")


def test_a_first_call_that_is_refused_ends_the_run(tmp_path: Path) -> None:
    b, model = bench(tmp_path, RejectedError("Claude rejected the request (400): no such field"))
    done = b.run()
    assert (done.status, len(model.requests)) == ("failed", 1)
    assert done.run.receipt is not None
    assert "no such field" in done.run.receipt.message


def test_the_effort_falls_for_writing_and_rises_for_a_resume(tmp_path: Path) -> None:
    b, model = bench(tmp_path, LOOK, raw(THOUGHT, stop_reason="end_turn"), says(""))
    failed = b.run(max_steps=2)
    first, write, again = model.requests
    assert {r.effort for r in model.requests} == {"medium"}
    assert [m for m in first.messages if m["role"] == "system"] == []
    assert write.messages[-1] == LOW
    assert [m for m in again.messages if m["role"] == "system"] == [LOW]

    b.with_model(taken_up := scripted([LOOK, says(REPORT)]))
    done = b.resume(failed, max_steps=2)
    sent = taken_up.requests[0].messages
    assert list(sent[:4]) == list(again.messages[:4])
    assert (sent[-1], [m for m in sent if m["role"] == "system"]) == (MEDIUM, [LOW, MEDIUM])
    assert taken_up.requests[1].messages[-1] == LOW
    assert done.run.outcome == "completed"


def test_a_model_that_takes_no_change_is_asked_with_one_effort(tmp_path: Path) -> None:
    b, model = bench(tmp_path, LOOK, says(REPORT))
    b.run(max_steps=2, model="haiku", effort="low")
    assert [r.effort for r in model.requests] == ["low", "low"]
    assert all(m["role"] != "system" for r in model.requests for m in r.messages)


def test_a_model_that_is_not_known_is_asked_plainly(tmp_path: Path) -> None:
    from dataclasses import replace

    b, model = bench(tmp_path, says(REPORT))
    b.deps = replace(b.deps, policy=replace(PRICED, model_ids={"sonnet": "claude-next"}))
    b.run()
    assert (model.requests[0].thinking, model.requests[0].effort) == (None, None)


def test_the_request_sets_the_effort_for_gathering(tmp_path: Path) -> None:
    b, model = bench(tmp_path, LOOK, says(REPORT))
    b.run(max_steps=2, effort="high")
    assert [r.effort for r in model.requests] == ["high", "high"]
    assert model.requests[1].messages[-1] == LOW


def test_thinking_is_shown_as_progress_and_is_no_part_of_the_report(tmp_path: Path) -> None:
    from idea_explorer.domain.events import ThinkingDelta

    thought: Block = {"type": "thinking", "thinking": "Compare prices.", "signature": "s"}
    answer = raw(thought, {"type": "text", "text": REPORT}, stop_reason="end_turn")

    class Thinks(ScriptedModel):
        def answer(self, request: ModelRequest, watcher, deadline):  # type: ignore[no-untyped-def]
            watcher.thinking("Compare prices.")
            return super().answer(request, watcher, deadline)

    b = Bench(tmp_path, Thinks([answer]))
    done = b.run()
    told = [e.content for e in b.seen.events if isinstance(e, ThinkingDelta)]
    assert told == ["Compare prices.", "\n\n"]
    stored = [e.data for e in b.store.read(done.id, after=0) if e.type == "thinking_delta"]
    assert stored == ['{"type":"thinking_delta","content":"Compare prices.\\n\\n"}']
    assert b.store.load_report(done.id) == REPORT


def test_what_is_kept_for_the_report_holds_its_thinking(tmp_path: Path) -> None:
    def spends(request: ModelRequest, _: int) -> ModelAnswer:
        if request.writing:
            return says(REPORT, usage=Usage(output_tokens=request.max_tokens))
        usage = Usage(cache_write_tokens=4_000, output_tokens=request.max_tokens)
        return calls(("list_research", {}), usage=usage)

    b = Bench(tmp_path, model := ScriptedModel(spends))
    b.write("a.md", "x")
    done = b.run(max_cost_usd=0.6)
    assert all(r.max_tokens >= 4_096 for r in model.requests)
    assert (done.run.stats.cost_usd or 0) <= 0.6
    asked = [e for e in b.entries(done) if isinstance(e, ModelCallStarted)]
    assert asked[-1].max_tokens >= 8_192 - 4_096


def test_a_thread_goes_on_with_what_was_sent_before(tmp_path: Path) -> None:
    b, model = bench(tmp_path, LOOK, says("It is 12."))
    first = b.run("What is it?", toolset="assistant", max_steps=2)
    b.with_model(then := scripted([says("It is 13.")]))
    b.run("And now?", toolset="assistant", continue_from=first.id)
    (request,) = then.requests
    sent = model.requests[-1].messages
    assert list(request.messages[: len(sent)]) == list(sent)
    assert (request.messages[-1], request.effort) == (MEDIUM, "medium")
    b.with_model(other := scripted([says("It is 14.")]))
    b.run("And then?", toolset="assistant", continue_from=first.id, model="opus")
    assert all(m["role"] != "system" for m in other.requests[0].messages)


def test_instructions_stand_in_the_transcript_as_they_were_sent(tmp_path: Path) -> None:
    b, model = bench(tmp_path, LOOK, says(REPORT))
    done = b.run(max_steps=2)
    said = [e for e in b.entries(done) if isinstance(e, Instruction)]
    assert [(s.purpose, s.reason, s.effort) for s in said] == [("write", "max_steps", "low")]
    assert build_messages(b.entries(done))[: len(model.requests[1].messages)] == list(
        model.requests[1].messages
    )


def test_a_call_beside_a_refusal_is_left_out_when_the_run_is_taken_up(tmp_path: Path) -> None:
    use: Block = {"type": "tool_use", "id": "t", "name": "list_research", "input": {}}
    b, _ = bench(tmp_path, raw(THOUGHT, use, stop_reason="refusal"))
    failed = b.run()
    b.with_model(then := scripted([says(REPORT)]))
    b.resume(failed)
    assert [m["role"] for m in then.requests[0].messages] == ["user"]


def test_a_turn_never_ends_in_thinking(tmp_path: Path) -> None:
    found = search("s1")
    b, model = bench(tmp_path, raw(*found, THOUGHT, stop_reason="max_tokens"), says(REPORT))
    b.run()
    turns = [m["content"] for m in model.requests[1].messages if m["role"] == "assistant"]
    assert turns == [found]


def test_a_run_that_ended_while_pausing_goes_on_when_it_is_resumed(tmp_path: Path) -> None:
    pausing = raw(*search("s1"), stop_reason="pause_turn")
    b, _ = bench(tmp_path, *[pausing] * 9)
    ended = b.run()
    assert (ended.status, ended.run.stats.stop_reason) == ("partial", "pauses")
    b.with_model(then := scripted([says(REPORT)]))
    assert b.resume(ended).run.outcome == "completed"
    assert len(then.requests) == 1


def test_a_thread_of_a_model_with_one_effort_keeps_it(tmp_path: Path) -> None:
    b, _ = bench(tmp_path, says("It is 12."))
    first = b.run("What is it?", toolset="assistant", model="haiku")
    b.with_model(then := scripted([says("It is 13.")]))
    b.run("And now?", toolset="assistant", model="haiku", effort="high", continue_from=first.id)
    (request,) = then.requests
    assert (request.effort, [m for m in request.messages if m["role"] == "system"]) == (
        "medium",
        [],
    )


def test_the_effort_is_lowered_where_both_phases_have_the_same(tmp_path: Path) -> None:
    from dataclasses import replace

    from idea_explorer.domain.models import PROFILES

    b, model = bench(tmp_path, LOOK, raw(THOUGHT, stop_reason="end_turn"), says(REPORT))
    same = replace(PROFILES["claude-sonnet-5-5"], gathering="high", writing="high")
    b.deps = replace(b.deps, policy=replace(PRICED, profiles={"claude-sonnet-5-5": same}))
    b.run(max_steps=2, deadline_seconds=840)
    assert [r.messages[-1].get("output_config") for r in model.requests] == [
        None, None, {"effort": "low"},
    ]  # fmt: skip


def search(call: str) -> list[Block]:
    page: Block = {"type": "web_search_result", "url": f"https://example.org/{call}", "title": "T",
                   "encrypted_content": call, "page_age": None}  # fmt: skip
    return [
        {"type": "server_tool_use", "id": call, "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": call, "content": [page]},
    ]
