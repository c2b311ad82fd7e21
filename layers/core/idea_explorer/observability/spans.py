"""A run as OpenTelemetry spans: agent run ⊃ model call ⊃ tool.

Built from the run's events; loaded only where spans are exported. A tool span is the child of the model
call that requested it, and that call ends with the last of its tools; `durationMs` is the time of the answer
alone.
"""

import re
import threading
from collections.abc import Callable
from dataclasses import replace

from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.events import (
    AnswerStarted,
    MessageEnd,
    MessageStart,
    RetryScheduled,
    RunEvent,
    StatusChanged,
    StepFinished,
    ToolCallEnd,
    ToolCallError,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import text_of
from idea_explorer.observability import span_attributes as attributes
from idea_explorer.observability.span_attributes import AGENT, Attributes, drop_missing

NO_ANSWER = frozenset({"model_error", "deadline"})  # stop reasons of calls without an answer
INTERRUPTED = "The call was interrupted."
_TRACE_HEADER = re.compile(
    r"Root=1-(?P<time>[0-9a-f]{8})-(?P<rest>[0-9a-f]{24});Parent=(?P<span>[0-9a-f]{16});Sampled=1\b"
)


def parse_trace_header(header: str) -> Span | None:
    """The segment that Lambda records for an invocation, from the header of AWS. None if it records none:
    a run below it would be dropped by every sampler that asks its parent."""
    found = _TRACE_HEADER.match(header)
    if found is None:
        return None
    return NonRecordingSpan(
        SpanContext(
            trace_id=int(found["time"] + found["rest"], 16),
            span_id=int(found["span"], 16),
            is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )
    )


@dataclass(frozen=True, slots=True)
class _Tool:
    start: ToolCallStart
    started_at: int
    end: ToolCallEnd | ToolCallError | None = None
    ended_at: int = 0


class SpanSink:
    """The spans of one run. Tools run in their own threads, so events may come from any thread."""

    def __init__(
        self,
        exploration: Exploration,
        tracer: Tracer,
        clock: Clock,
        *,
        parent: Span | None = None,
        capture: bool = False,
        flush: Callable[[], None] = lambda: None,
    ) -> None:
        self._exploration = exploration
        self._tracer = tracer
        self._now = _nanoseconds(clock)
        self._parent = parent
        self._capture = capture
        self._flush = flush
        self._lock = threading.Lock()
        self._model_id = ""
        self._run: Span | None = None
        self._asked: tuple[AnswerStarted, int] | None = None  # a model call without an answer yet
        self._call: Span | None = None  # an answered model call whose tools are still running
        self._requested: set[str] = set()  # those tools
        self._running: dict[str, _Tool] = {}
        self._searches: list[_Tool] = []  # of the current model call, written when it ends
        self._text = ""  # of the last answer

    def emit(self, event: RunEvent) -> None:
        with self._lock:
            if isinstance(event, MessageStart):
                self._begin(event)
            elif self._run is not None:
                self._continue(event, self._run)

    def _begin(self, event: MessageStart) -> None:
        self._model_id = event.model_id
        details = attributes.describe_run(self._exploration, event.model_id, capture=self._capture)
        if self._parent:
            details = {**details, **attributes.describe_root()}
        self._run = self._start(
            f"invoke_agent {AGENT}", details, at=self._now(), parent=self._parent
        )

    def _continue(self, event: RunEvent, run: Span) -> None:
        match event:
            case AnswerStarted():
                self._end_call()
                self._end_unanswered(INTERRUPTED)
                self._asked = event, self._now()
            case RetryScheduled() if event.step:
                self._end_unanswered(event.reason, attributes.describe_retry(event))
            case ToolCallStart():
                self._running[event.tool_call_id] = _Tool(event, self._now())
            case ToolCallEnd() | ToolCallError():
                self._end_tool(event)
            case StepFinished():
                self._answer(event)
            case MessageEnd():
                self._end(run, event.outcome, event)
            case StatusChanged() if event.to != "running":
                self._end(run, event.to)

    def _end_tool(self, event: ToolCallEnd | ToolCallError) -> None:
        begun = self._running.pop(event.tool_call_id, None)
        if begun is None:
            return
        tool = replace(begun, end=event, ended_at=self._now())
        if tool.start.during_answer:
            self._searches.append(tool)
            return
        # after a crash, the first tools belong to a call of the previous process
        self._write_tool(tool, self._call or self._run)
        self._requested.discard(event.tool_call_id)
        if not self._requested:
            self._end_call()

    def _answer(self, event: StepFinished) -> None:
        details = attributes.describe_answer(event, capture=self._capture)
        self._call = self._write_call(details)
        self._text = "".join(text_of(block.get("text")) for block in event.blocks)
        self._requested = {
            text_of(block.get("id")) for block in event.blocks if block.get("type") == "tool_use"
        }
        if not self._requested:
            self._end_call()

    def _end_call(self) -> None:
        """A call ends with the last of its tools, which are below it."""
        if self._call is not None:
            self._call.end(self._now())
        self._call, self._requested = None, set()

    def _end_unanswered(self, error: str, details: Attributes | None = None) -> None:
        if self._asked is not None:
            _close(self._write_call(details or {}), self._now(), error)

    def _write_call(self, details: Attributes) -> Span:
        """The call and the searches that ran during it."""
        start, at = self._asked or (None, self._now())
        asked = attributes.describe_model_call(self._model_id, start, capture=self._capture)
        span = self._start(
            f"chat {self._model_id}",
            {**asked, **details},
            at=at,
            parent=self._run,
            kind=SpanKind.CLIENT,
        )
        for search in self._searches:
            # a search may have started in a call that Anthropic paused
            self._write_tool(replace(search, started_at=max(search.started_at, at)), span)
        self._asked, self._searches = None, []
        return span

    def _end(self, run: Span, outcome: str, event: MessageEnd | None = None) -> None:
        error = event.error if event else ""
        unanswered = event is not None and event.stop_reason in NO_ANSWER
        self._end_unanswered((error if unanswered else "") or INTERRUPTED)
        for tool in self._running.values():
            self._write_tool(replace(tool, ended_at=self._now()), self._call or run)
        self._end_call()
        end = attributes.describe_end(outcome, event, self._text, capture=self._capture)
        run.set_attributes(drop_missing(end))
        _close(run, self._now(), error)
        self._run = None
        self._running.clear()
        self._flush()

    def _write_tool(self, tool: _Tool, parent: Span | None) -> None:
        details = attributes.describe_tool_call(tool.start, tool.end, capture=self._capture)
        span = self._start(
            f"tool-{tool.start.tool_name}", details, at=tool.started_at, parent=parent
        )
        _close(span, tool.ended_at, _error_of(tool))

    def _start(
        self,
        name: str,
        details: Attributes,
        *,
        at: int,
        parent: Span | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        return self._tracer.start_span(
            name,
            context=set_span_in_context(parent, Context()) if parent else Context(),
            kind=kind,
            attributes=drop_missing({**attributes.describe_session(self._exploration), **details}),
            start_time=at,
        )


def _error_of(tool: _Tool) -> str:
    if tool.end is None:
        return INTERRUPTED
    return tool.end.error if isinstance(tool.end, ToolCallError) else ""


def _close(span: Span, at: int, error: str) -> None:
    if error:
        span.set_status(Status(StatusCode.ERROR, error))
    span.end(at)


def _nanoseconds(clock: Clock) -> Callable[[], int]:
    """Nanoseconds since the epoch that never run backwards, even if the wall clock is set."""
    epoch, start = int(clock.now().timestamp() * 1_000_000_000), clock.monotonic()
    return lambda: epoch + round((clock.monotonic() - start) * 1_000_000_000)
