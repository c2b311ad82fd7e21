"""Runs as spans: what is below what, what they say, and what they keep to themselves."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from pydantic import JsonValue

from idea_explorer.agent.toolset import Arguments, Tool, Toolset
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import AuthFailedError, NetworkError, ToolError
from idea_explorer.domain.events import MessageStart, RunEvent, StatusChanged, ToolCallStart
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.tools import ToolResult
from idea_explorer.domain.usage import Usage
from idea_explorer.observability.spans import SpanSink, parse_trace_header
from idea_explorer.ports import Model, ModelAnswer, ModelRequest, Watcher
from idea_explorer.usecases.explore import explore
from tests.fakes.clock import START, ManualClock
from tests.fakes.deps import PRICED
from tests.fakes.engine import Bench
from tests.fakes.models import Reply, ScriptedModel, calls, raw, says

SECRET = "a secret recipe"
REPORT = f"# A tea room\n\n## Verdict\n\n**Verdict: PASS**\n\n{SECRET}"
CACHED = Usage(
    input_tokens=100, output_tokens=10, cache_read_tokens=700, cache_write_tokens=30, searches=1
)
CHAT = "chat claude-sonnet-5-5"


class Nothing(Arguments):
    what: str = ""


class Traced:
    """A bench whose runs are told in spans."""

    def __init__(
        self,
        folder: Path,
        model: Model,
        *,
        capture: bool = False,
        toolset: Toolset | None = None,
        clock: ManualClock | None = None,
        header: str = "",
    ) -> None:
        self._header = header
        self.exporter = InMemorySpanExporter()
        self.flushes: list[int] = []
        self._provider = TracerProvider(shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self._capture = capture
        self.bench = Bench(folder, model, toolset=toolset, clock=clock)
        self.bench.deps = replace(self.bench.deps, sinks_for=lambda e: [self.sink(e)])

    def sink(self, exploration: Exploration) -> SpanSink:
        return SpanSink(
            exploration,
            self._provider.get_tracer("tests"),
            self.bench.clock,
            parent=parse_trace_header(self._header),
            capture=self._capture,
            flush=lambda: self.flushes.append(len(self.spans)),
        )

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span

    @property
    def run(self) -> ReadableSpan:
        return self.one("invoke_agent idea-explorer")


def said(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def is_below(child: ReadableSpan, parent: ReadableSpan) -> bool:
    return child.parent is not None and child.parent == parent.context


def seconds(span: ReadableSpan) -> tuple[float, float]:
    """When a span began and ended, after the start of the clock."""
    assert span.start_time is not None
    assert span.end_time is not None
    zero = START.timestamp()
    return round(span.start_time / 1e9 - zero, 3), round(span.end_time / 1e9 - zero, 3)


def script(*replies: Reply) -> ScriptedModel:
    return ScriptedModel(list(replies))


def search(call: str, found: JsonValue) -> list[Block]:
    return [
        {
            "type": "server_tool_use",
            "id": call,
            "name": "web_search",
            "input": {"query": SECRET},
        },
        {"type": "web_search_tool_result", "tool_use_id": call, "content": found},
    ]


PAGES: JsonValue = [{"type": "web_search_result", "url": "https://example.org/", "title": "T"}]


def reading(path: str) -> ModelAnswer:
    return calls(("read_research", {"path": path}))


def test_a_tool_is_below_its_model_call_and_that_below_the_run(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(reading("a.md"), says(REPORT)))
    traced.bench.write("a.md", "tea")
    traced.bench.explore()
    first, second = traced.named(CHAT)
    tool = traced.one("tool-read_research")
    assert is_below(tool, first)
    assert is_below(first, traced.run)
    assert is_below(second, traced.run)
    assert traced.run.parent is None
    assert [s.kind for s in (traced.run, first, tool)] == [
        SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL,
    ]  # fmt: skip


LAMBDA = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8"


def test_a_run_belongs_to_the_trace_that_lambda_records(tmp_path: Path) -> None:
    header = f"{LAMBDA};Sampled=1;Lineage=1:a87bd80c:0"
    traced = Traced(tmp_path, script(says(REPORT)), header=header)
    traced.bench.explore()

    assert traced.run.parent is not None
    assert f"{traced.run.parent.trace_id:032x}" == "5759e988bd862e3fe1be46a994272793"
    assert f"{traced.run.parent.span_id:016x}" == "53995c3f42cd8ad8"
    assert {span.context.trace_id for span in traced.spans if span.context} == {
        traced.run.parent.trace_id
    }
    assert said(traced.run)["langfuse.internal.as_root"] is True


@pytest.mark.parametrize(
    "header", ["", "nonsense", LAMBDA, f"{LAMBDA};Sampled=0", "Root=1-5759e988"]
)
def test_a_run_that_lambda_does_not_record_has_its_own_trace(tmp_path: Path, header: str) -> None:
    traced = Traced(tmp_path, script(says(REPORT)), header=header)
    traced.bench.explore()

    assert traced.run.parent is None
    assert "langfuse.internal.as_root" not in said(traced.run)


def test_times_are_those_of_the_clock(tmp_path: Path) -> None:
    clock = ManualClock()

    def answer(request: ModelRequest, number: int) -> Reply:
        clock.pass_time(3)
        return calls(("wait", {})) if number == 0 else says(REPORT)

    def wait(_: Nothing) -> ToolResult:
        clock.pass_time(2)
        return ToolResult.success({}, summary="Waited")

    tools = Toolset([Tool("wait", "Wait.", Nothing, wait, {})])
    traced = Traced(tmp_path, ScriptedModel(answer), toolset=tools, clock=clock)
    traced.bench.explore()
    assert [seconds(span) for span in traced.named(CHAT)] == [(0, 5), (5, 8)]
    assert [said(span)["durationMs"] for span in traced.named(CHAT)] == [3_000, 3_000]
    assert seconds(traced.one("tool-wait")) == (3, 5)
    assert said(traced.one("tool-wait"))["durationMs"] == 2_000
    assert seconds(traced.run) == (0, 8)


def test_a_wall_clock_set_back_turns_no_span_around(tmp_path: Path) -> None:
    @dataclass
    class SetBack(ManualClock):
        def now(self) -> datetime:
            return START if self.elapsed == 0 else START.replace(hour=1)

    clock = SetBack()

    def answer(request: ModelRequest, number: int) -> Reply:
        clock.pass_time(3)
        return says(REPORT)

    traced = Traced(tmp_path, ScriptedModel(answer), clock=clock)
    traced.bench.explore()
    assert seconds(traced.run) == (0, 3)


def test_a_run_says_who_ran_and_how_it_ended(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(says(REPORT)))
    done = traced.bench.explore()
    assert said(traced.run) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "idea-explorer",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-5-5",
        "gen_ai.conversation.id": done.conversation_id,
        "session.id": done.conversation_id,
        "idea_explorer.exploration_id": done.id,
        "idea_explorer.run": 1,
        "idea_explorer.toolset": "research",
        "idea_explorer.mode": "business",
        "idea_explorer.depth": "quick",
        "idea_explorer.outcome": "completed",
        "idea_explorer.stop_reason": "end_turn",
    }
    assert traced.run.status.status_code is StatusCode.UNSET


def test_every_span_belongs_to_the_session(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(reading("a.md"), says(REPORT)))
    done = traced.bench.explore()
    assert {said(span)["session.id"] for span in traced.spans} == {done.conversation_id}
    assert {said(span)["gen_ai.conversation.id"] for span in traced.spans} == {done.conversation_id}


def test_a_model_call_says_what_it_took(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(says(REPORT, usage=CACHED)))
    done = traced.bench.explore()
    told = said(traced.one(CHAT))
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.request.model"] == "claude-sonnet-5-5"
    assert told["gen_ai.provider.name"] == "anthropic"
    assert told["gen_ai.usage.input_tokens"] == 830
    assert told["gen_ai.usage.output_tokens"] == 10
    assert told["gen_ai.usage.cache_read.input_tokens"] == 700
    assert told["gen_ai.usage.cache_creation.input_tokens"] == 30
    assert told["gen_ai.usage.cost"] == done.run.stats.cost_usd
    assert told["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert told["idea_explorer.step"] == 1
    assert json.loads(str(told["langfuse.observation.usage_details"])) == {
        "input": 100, "output": 10, "input_cached_tokens": 700, "input_cache_creation": 30,
    }  # fmt: skip


def test_an_unknown_price_is_left_out(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(says(REPORT)))
    traced.bench.deps = replace(traced.bench.deps, policy=replace(PRICED, prices={}))
    traced.bench.explore()
    assert "gen_ai.usage.cost" not in said(traced.one(CHAT))


def test_a_tool_says_what_it_is(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(reading("a.md"), says(REPORT)))
    traced.bench.write("a.md", "tea")
    done = traced.bench.explore()
    tool = traced.one("tool-read_research")
    assert said(tool) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read_research",
        "gen_ai.tool.call.id": "call_read_research_0",
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": done.conversation_id,
        "session.id": done.conversation_id,
        "durationMs": 0,
    }
    assert tool.status.status_code is StatusCode.UNSET


def test_a_failed_tool_is_an_error_with_its_message(tmp_path: Path) -> None:
    def fail(_: Nothing) -> ToolResult:
        raise ToolError("not_there", "It is not there.")

    tools = Toolset([Tool("look", "Look.", Nothing, fail, {})])
    traced = Traced(tmp_path, script(calls(("look", {})), says(REPORT)), toolset=tools)
    traced.bench.explore()
    tool = traced.one("tool-look")
    assert (tool.status.status_code, tool.status.description) == (
        StatusCode.ERROR,
        "It is not there.",
    )
    assert said(tool)["error.type"] == "not_there"
    assert traced.run.status.status_code is StatusCode.UNSET


def test_tools_side_by_side_are_each_a_span_of_the_same_call(tmp_path: Path) -> None:
    wanted: list[tuple[str, JsonObject]] = [
        ("read_research", {"path": f"{number}.md"}) for number in range(6)
    ]
    asked = calls(*wanted)
    traced = Traced(tmp_path, script(asked, says(REPORT)))
    traced.bench.explore()
    tools = traced.named("tool-read_research")
    assert len({said(tool)["gen_ai.tool.call.id"] for tool in tools}) == 6
    assert all(is_below(tool, traced.named(CHAT)[0]) for tool in tools)


def test_a_search_at_the_models_side_is_a_tool_of_that_call(tmp_path: Path) -> None:
    answered = raw(
        *search("s1", PAGES),
        *search("s2", {"type": "web_search_tool_result_error", "error_code": "unavailable"}),
        {"type": "text", "text": REPORT},
        stop_reason="end_turn",
    )
    traced = Traced(tmp_path, script(reading("a.md"), answered))
    traced.bench.explore()
    first, second = traced.named("tool-web_search")
    assert is_below(first, traced.named(CHAT)[1])
    assert is_below(second, traced.named(CHAT)[1])
    assert said(first)["gen_ai.tool.type"] == "extension"
    assert "durationMs" not in {**said(first), **said(second)}
    assert second.status.description == "web_search failed: unavailable"


def test_a_search_that_a_pause_cut_in_two_is_one_span(tmp_path: Path) -> None:
    use, found = search("s1", PAGES)
    traced = Traced(
        tmp_path,
        script(
            raw(use, stop_reason="pause_turn"),
            raw(found, {"type": "text", "text": REPORT}, stop_reason="end_turn"),
        ),
    )
    traced.bench.explore()
    assert is_below(traced.one("tool-web_search"), traced.named(CHAT)[1])
    assert len(traced.named(CHAT)) == 2


def test_a_search_that_never_ended_is_an_error(tmp_path: Path) -> None:
    use, _ = search("s1", PAGES)
    model = script(raw(use, {"type": "text", "text": REPORT}, stop_reason="end_turn"))
    traced = Traced(tmp_path, model)
    traced.bench.explore()
    assert traced.one("tool-web_search").status.status_code is StatusCode.ERROR
    assert traced.run.status.status_code is StatusCode.UNSET


@dataclass
class Breaking:
    """Searches, then breaks off; answers in the end, if ever."""

    clock: ManualClock
    times: int
    asked: int = 0

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        self.asked += 1
        if self.asked <= self.times:
            for block in search(f"s{self.asked}", PAGES):
                watcher.block(block)
                self.clock.pass_time(1)
            watcher.text("# Half")
            raise NetworkError("The connection was reset.")
        return says(REPORT)


def test_a_call_that_broke_off_is_told_apart_from_the_one_that_answered(tmp_path: Path) -> None:
    clock = ManualClock()
    traced = Traced(tmp_path, Breaking(clock, times=1), clock=clock, capture=True)
    traced.bench.explore()
    broken, answered = traced.named(CHAT)
    assert broken.status.status_code is StatusCode.ERROR
    assert answered.status.status_code is StatusCode.UNSET
    assert is_below(traced.one("tool-web_search"), broken)
    assert "gen_ai.usage.input_tokens" not in said(broken)
    assert "# Half" not in str(said(answered))


def test_a_model_that_cannot_be_asked_is_an_error_of_call_and_run(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(AuthFailedError("The key was refused.")))
    traced.bench.explore()
    for span in (traced.one(CHAT), traced.run):
        assert (span.status.status_code, span.status.description) == (
            StatusCode.ERROR,
            "The key was refused.",
        )
    assert said(traced.run)["error.type"] == "SERVICE_UNAVAILABLE"
    assert said(traced.run)["idea_explorer.outcome"] == "failed"


def test_a_refusal_is_an_error_of_the_run_alone(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(raw(stop_reason="refusal")))
    traced.bench.explore()
    assert traced.run.status.status_code is StatusCode.ERROR
    assert traced.one(CHAT).status.status_code is StatusCode.UNSET


def everything_said(spans: Sequence[ReadableSpan]) -> str:
    return " ".join(f"{span.name} {span.status.description} {said(span)}" for span in spans)


def with_secrets(folder: Path, *, capture: bool) -> Traced:
    answered = raw(*search("s1", PAGES), {"type": "text", "text": REPORT}, stop_reason="end_turn")
    traced = Traced(folder, script(reading("secret.md"), answered), capture=capture)
    traced.bench.write("secret.md", SECRET)
    traced.bench.explore(f"The idea is {SECRET}", context=SECRET)
    return traced


def test_contents_stay_here_unless_asked_for(tmp_path: Path) -> None:
    traced = with_secrets(tmp_path, capture=False)
    assert len(traced.spans) == 5
    assert SECRET not in everything_said(traced.spans)


def test_contents_are_there_where_asked_for(tmp_path: Path) -> None:
    traced = with_secrets(tmp_path, capture=True)
    tool = said(traced.one("tool-read_research"))
    assert json.loads(str(tool["gen_ai.tool.call.arguments"])) == {"path": "secret.md"}
    assert json.loads(str(tool["gen_ai.tool.call.result"]))["content"] == SECRET
    searched = said(traced.one("tool-web_search"))
    assert json.loads(str(searched["gen_ai.tool.call.arguments"])) == {"query": SECRET}
    assert "https://example.org/" in str(searched["gen_ai.tool.call.result"])
    (idea,) = json.loads(str(said(traced.run)["gen_ai.input.messages"]))
    assert idea == {"role": "user", "parts": [{"type": "text", "content": f"The idea is {SECRET}"}]}
    (answer,) = json.loads(str(said(traced.named(CHAT)[1])["gen_ai.output.messages"]))
    assert answer["parts"][-1] == {"type": "text", "content": REPORT}
    assert answer["finish_reason"] == "stop"


def test_a_run_is_flushed_once_when_all_its_spans_have_ended(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(reading("a.md"), says(REPORT)))
    traced.bench.run()
    assert traced.flushes == [4]


def test_publishing_adds_no_run(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(says(REPORT)))
    done = traced.bench.explore()
    traced.sink(done).emit(StatusChanged(from_="running", to="completed"))
    assert len(traced.named("invoke_agent idea-explorer")) == 1


def test_a_run_that_waits_for_a_person_has_ended(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(says(REPORT)))
    queued = traced.bench.submit()
    sink = traced.sink(queued)
    sink.emit(MessageStart(message_id="m", conversation_id=queued.id, model_id="claude-opus-5-5"))
    sink.emit(StatusChanged(from_="running", to="awaiting_approval"))
    assert said(traced.run)["idea_explorer.outcome"] == "awaiting_approval"
    assert traced.run.status.status_code is StatusCode.UNSET


class KilledError(Exception):
    pass


class Killer:
    """Ends the process, as it were, when a tool is about to run."""

    def emit(self, event: RunEvent) -> None:
        if isinstance(event, ToolCallStart):
            raise KilledError


def test_tools_that_a_dead_process_left_are_below_the_run_that_takes_over(tmp_path: Path) -> None:
    traced = Traced(tmp_path, script(reading("a.md"), says(REPORT)))
    deps = traced.bench.deps
    queued = traced.bench.submit()
    with pytest.raises(KilledError):
        explore(queued.id, queued.run.number, replace(deps, sinks_for=lambda _: [Killer()]))
    explore(queued.id, queued.run.number, deps)
    assert is_below(traced.one("tool-read_research"), traced.run)
    assert is_below(traced.one(CHAT), traced.run)


def test_what_only_spans_need_is_not_sent_to_watchers(tmp_path: Path) -> None:
    bench = Bench(tmp_path, script(AuthFailedError("The key was refused.")))
    done = bench.explore()
    stored = {event.type: json.loads(event.data) for event in bench.store.read(done.id)}
    assert set(stored["message_start"]) == {"type", "messageId", "conversationId"}
    assert set(stored["message_end"]) == {"type", "usage"}
