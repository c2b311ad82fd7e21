"""A traced run with content, as Langfuse shows it."""

import json
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from idea_explorer.agent.toolset import Tool, Toolset
from idea_explorer.domain.errors import ToolError, UnavailableError
from idea_explorer.domain.tools import ToolResult
from idea_explorer.ports import ModelRequest
from tests.fakes.clock import ManualClock
from tests.fakes.models import Reply, ScriptedModel, calls, says
from tests.unit.observability.langfuse_mapping import map_span
from tests.unit.observability.test_spans import CACHED, CHAT, REPORT, Nothing, Traced

IDEA = "A tea room in a lighthouse"


def look(given: Nothing) -> ToolResult:
    if given.what == "nowhere":
        raise ToolError("not_there", "It is not there.")
    return ToolResult.success({"found": "tea"}, summary="Found tea")


@pytest.fixture
def traced(tmp_path: Path) -> Traced:
    """Two tools, one of which fails; a model call that fails once; a report."""
    clock = ManualClock()

    def answer(request: ModelRequest, number: int) -> Reply:
        clock.pass_time(3)
        if number == 1:
            return UnavailableError("Claude is overloaded.")
        if number == 0:
            return calls(("look", {"what": "here"}), ("look", {"what": "nowhere"}), usage=CACHED)
        return says(REPORT)

    def slow_look(given: Nothing) -> ToolResult:
        clock.pass_time(2)
        return look(given)

    tools = Toolset([Tool("look", "Look.", Nothing, slow_look, {})])
    traced = Traced(tmp_path, ScriptedModel(answer), toolset=tools, clock=clock, capture=True)
    traced.bench.explore(IDEA)
    return traced


def test_the_run_is_an_agent_with_input_and_output(traced: Traced) -> None:
    run = map_span(traced.run)
    assert run.type == "AGENT"
    assert run.input == [{"role": "user", "parts": [{"type": "text", "content": IDEA}]}]
    assert run.output == [{"role": "assistant", "parts": [{"type": "text", "content": REPORT}]}]
    assert run.level == "DEFAULT"


def test_a_generation_has_the_whole_input_of_the_model(traced: Traced) -> None:
    first, _, last = map(map_span, traced.named(CHAT))
    assert first.type == "GENERATION"
    assert first.model == "claude-sonnet-5-5"
    assert first.input[0]["role"] == "system"
    assert first.input[0]["content"]
    assert [message["role"] for message in first.input[1:]] == ["user"]
    assert IDEA in json.dumps(first.input)
    assert [message["role"] for message in last.input[1:]] == ["user", "assistant", "tool"]
    answers = last.input[-1]["parts"]
    assert {part["type"] for part in answers} == {"tool_call_response"}
    assert "tea" in json.dumps(answers)
    assert "It is not there." in json.dumps(answers)


def test_a_generation_has_its_tool_calls_as_output(traced: Traced) -> None:
    first, _, last = map(map_span, traced.named(CHAT))
    ((requested),) = first.output
    assert requested["finish_reason"] == "tool_call"
    assert [
        (part["type"], part["name"], part["arguments"])
        for part in requested["parts"]
        if part["type"] != "text"
    ] == [("tool_call", "look", {"what": "here"}), ("tool_call", "look", {"what": "nowhere"})]
    assert last.output == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": REPORT}],
            "finish_reason": "stop",
        }
    ]


def test_tokens_are_counted_once_by_our_attributes_and_by_those_of_the_conventions(
    traced: Traced,
) -> None:
    span = traced.named(CHAT)[0]
    counted = map_span(span).usage
    assert counted == {
        "input": 100, "output": 10, "input_cached_tokens": 700, "input_cache_creation": 30,
    }  # fmt: skip
    conventional = {
        name: value
        for name, value in (span.attributes or {}).items()
        if not name.startswith("langfuse.")
    }
    assert map_span(ReadableSpan(span.name, attributes=conventional)).usage == counted
    assert map_span(span).cost == pytest.approx((span.attributes or {})["gen_ai.usage.cost"])


def test_a_tool_has_its_result_even_if_it_failed(traced: Traced) -> None:
    tools = sorted(map(map_span, traced.named("tool-look")), key=lambda tool: tool.level)
    good, bad = tools
    assert (good.type, good.name, good.input) == ("TOOL", "look", {"what": "here"})
    assert good.output["found"] == "tea"
    assert (bad.level, bad.status_message) == ("ERROR", "It is not there.")
    assert bad.output == {"ok": False, "error": "It is not there.", "retryable": False}


def test_a_call_that_is_tried_again_is_a_failed_generation(traced: Traced) -> None:
    failed = traced.named(CHAT)[1]
    shown = map_span(failed)
    assert (shown.type, shown.level) == ("GENERATION", "ERROR")
    assert shown.status_message == "Claude is overloaded."
    assert shown.input == map_span(traced.named(CHAT)[2]).input
    assert shown.output is None
    assert (failed.attributes or {})["idea_explorer.next_attempt"] == 2
    assert (failed.attributes or {})["idea_explorer.step"] == 2


def test_every_span_lies_within_its_parent(traced: Traced) -> None:
    by_id = {span.context.span_id: span for span in traced.spans if span.context}
    below = [span for span in traced.spans if span.parent]
    assert len(below) == 5
    for span in below:
        assert span.parent is not None
        parent = by_id[span.parent.span_id]
        assert span.start_time is not None
        assert span.end_time is not None
        assert parent.start_time is not None
        assert parent.end_time is not None
        assert parent.start_time <= span.start_time <= span.end_time <= parent.end_time


def test_a_tool_that_was_tried_twice_says_so(tmp_path: Path) -> None:
    tries: list[int] = []

    def fail_once(given: Nothing) -> ToolResult:
        tries.append(1)
        if len(tries) == 1:
            raise UnavailableError("Out of order.")
        return look(given)

    tools = Toolset([Tool("look", "Look.", Nothing, fail_once, {})])
    model = ScriptedModel([calls(("look", {})), says(REPORT)])
    traced = Traced(tmp_path, model, toolset=tools, capture=True)
    traced.bench.explore()
    assert len(tries) == 2
    span = traced.one("tool-look")
    assert (span.attributes or {})["idea_explorer.retried"] is True
    assert map_span(span).level == "DEFAULT"


def test_all_belong_to_one_session(traced: Traced) -> None:
    assert len({map_span(span).session_id for span in traced.spans}) == 1
