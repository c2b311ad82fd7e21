"""A run as OpenTelemetry spans: agent run ⊃ model call ⊃ tool.

Built from the run's events; loaded only where spans are exported. A tool span is the child of the model
call that requested it, although it starts after that call has ended.
"""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.events import (
    AnswerStarted,
    MessageEnd,
    MessageStart,
    RunEvent,
    StatusChanged,
    StepFinished,
    TextDelta,
    ToolCallEnd,
    ToolCallError,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Exploration
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
        self._call: Span | None = None  # the last model call, parent of its tools
        self._idle_since = 0  # the earliest start of the next model call
        self._running: dict[str, _Tool] = {}
        self._searches: list[_Tool] = []  # of the current model call, written when it ends
        self._text: list[str] = []

    def emit(self, event: RunEvent) -> None:
        with self._lock:
            if isinstance(event, MessageStart):
                self._begin(event)
            elif self._run is not None:
                self._continue(event, self._run)

    def _begin(self, event: MessageStart) -> None:
        self._model_id = event.model_id
        self._idle_since = self._now()
        details = attributes.describe_run(self._exploration, event.model_id, capture=self._capture)
        if self._parent:
            details = {**details, **attributes.describe_root()}
        self._run = self._start(
            f"invoke_agent {AGENT}", details, at=self._idle_since, parent=self._parent
        )

    def _continue(self, event: RunEvent, run: Span) -> None:
        match event:
            case AnswerStarted():
                self._text = []  # drops the text of an interrupted call
            case TextDelta():
                self._text.append(event.content)
            case ToolCallStart():
                self._running[event.tool_call_id] = _Tool(event, self._now())
            case ToolCallEnd() | ToolCallError():
                self._end_tool(event)
            case StepFinished():
                self._end_call(event)
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
        else:
            self._write_tool(tool)
            self._idle_since = tool.ended_at

    def _end_call(self, event: StepFinished) -> None:
        now = self._now()
        started_at = max(self._idle_since, now - (event.duration_ms or 0) * 1_000_000)
        self._write_interrupted(before=started_at)
        details = attributes.describe_answer(event, "".join(self._text), capture=self._capture)
        self._write_call(self._searches, details, started_at=started_at, ended_at=now)
        self._searches, self._text = [], []

    def _write_interrupted(self, *, before: int) -> None:
        """Searches that ended before the answer started belong to a call without an answer."""
        lost = [search for search in self._searches if search.ended_at < before]
        if lost:
            self._searches = [search for search in self._searches if search not in lost]
            ended_at = max(search.ended_at for search in lost)
            self._write_call(
                lost, {}, started_at=self._idle_since, ended_at=ended_at, error=INTERRUPTED
            )

    def _end(self, run: Span, outcome: str, event: MessageEnd | None = None) -> None:
        now = self._now()
        error = event.error if event else ""
        unanswered = event is not None and bool(error) and event.stop_reason in NO_ANSWER
        if unanswered or self._searches:
            reason = error or INTERRUPTED
            self._write_call(
                self._searches, {}, started_at=self._idle_since, ended_at=now, error=reason
            )
        for tool in self._running.values():
            self._write_tool(replace(tool, ended_at=now))
        run.set_attributes(drop_missing(attributes.describe_end(outcome, event)))
        _close(run, now, error)
        self._run = self._call = None
        self._flush()

    def _write_call(
        self,
        searches: Sequence[_Tool],
        answer: Attributes,
        *,
        started_at: int,
        ended_at: int,
        error: str = "",
    ) -> None:
        details = {**attributes.describe_model_call(self._model_id), **answer}
        self._call = self._start(
            f"chat {self._model_id}", details, at=started_at, parent=self._run, kind=SpanKind.CLIENT
        )
        for search in searches:
            self._write_tool(search)
        _close(self._call, ended_at, error)
        self._idle_since = ended_at

    def _write_tool(self, tool: _Tool) -> None:
        details = attributes.describe_tool_call(tool.start, tool.end, capture=self._capture)
        # after a crash, the first tools belong to a call of the previous process
        parent = self._call or self._run
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
