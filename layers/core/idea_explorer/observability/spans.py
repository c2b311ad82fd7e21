"""A run as OpenTelemetry spans: agent run ⊃ model call ⊃ tool.

Made from the run's events alone; loaded only where spans are exported. A tool is the child of the call
that asked for it, though it runs when that call is over.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

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
from idea_explorer.observability.span_attributes import AGENT, Attributes, known

UNANSWERED = frozenset(
    {"model_error", "deadline"}
)  # errors that left a model call without an answer
BROKEN_OFF = "The call was broken off."


@dataclass(frozen=True, slots=True)
class _Tool:
    start: ToolCallStart
    began: int
    end: ToolCallEnd | ToolCallError | None = None
    ended: int = 0


class SpanSink:
    """The spans of one run. Tools run in threads of their own, so events may come from any thread."""

    def __init__(
        self,
        exploration: Exploration,
        tracer: Tracer,
        clock: Clock,
        *,
        capture: bool = False,
        flush: Callable[[], None] = lambda: None,
    ) -> None:
        self._exploration = exploration
        self._tracer = tracer
        self._now = _nanoseconds(clock)
        self._capture = capture
        self._flush = flush
        self._lock = threading.Lock()
        self._model_id = ""
        self._run: Span | None = None
        self._call: Span | None = (
            None  # the last model call; the tools it asked for are its children
        )
        self._free_since = 0  # since when a model call may have been under way
        self._running: dict[str, _Tool] = {}
        self._searches: list[_Tool] = []  # of the call under way, whose span comes with its end
        self._text: list[str] = []

    def emit(self, event: RunEvent) -> None:
        with self._lock:
            if isinstance(event, MessageStart):
                self._begin(event)
            elif self._run is not None:
                self._go_on(event, self._run)

    def _begin(self, event: MessageStart) -> None:
        self._model_id = event.model_id
        self._free_since = self._now()
        said = attributes.of_run(self._exploration, event.model_id, capture=self._capture)
        self._run = self._started(f"invoke_agent {AGENT}", said, at=self._free_since)

    def _go_on(self, event: RunEvent, run: Span) -> None:
        match event:
            case AnswerStarted():
                self._text = []  # of one that broke off
            case TextDelta():
                self._text.append(event.content)
            case ToolCallStart():
                self._running[event.tool_call_id] = _Tool(event, self._now())
            case ToolCallEnd() | ToolCallError():
                self._tool_ended(event)
            case StepFinished():
                self._answered(event)
            case MessageEnd():
                self._end(run, event.outcome, event)
            case StatusChanged() if event.to != "running":
                self._end(run, event.to)
            case _:
                pass

    def _tool_ended(self, event: ToolCallEnd | ToolCallError) -> None:
        begun = self._running.pop(event.tool_call_id, None)
        if begun is None:
            return
        tool = replace(begun, end=event, ended=self._now())
        if tool.start.during_answer:
            self._searches.append(tool)
        else:
            self._write_tool(tool)
            self._free_since = tool.ended

    def _answered(self, event: StepFinished) -> None:
        now = self._now()
        began = max(self._free_since, now - (event.duration_ms or 0) * 1_000_000)
        self._write_broken_off(before=began)
        said = attributes.of_answer(event, "".join(self._text), capture=self._capture)
        self._write_call(self._searches, said, began=began, ended=now)
        self._searches, self._text = [], []

    def _write_broken_off(self, *, before: int) -> None:
        """Searches that ended before the answer began were made in a call that never gave one."""
        lost = [search for search in self._searches if search.ended < before]
        if lost:
            self._searches = [search for search in self._searches if search not in lost]
            ended = max(search.ended for search in lost)
            self._write_call(lost, {}, began=self._free_since, ended=ended, error=BROKEN_OFF)

    def _end(self, run: Span, outcome: str, event: MessageEnd | None = None) -> None:
        now = self._now()
        error = event.error if event else ""
        unanswered = event is not None and bool(error) and event.stop_reason in UNANSWERED
        if unanswered or self._searches:
            reason = error or BROKEN_OFF
            self._write_call(self._searches, {}, began=self._free_since, ended=now, error=reason)
        for tool in self._running.values():
            self._write_tool(replace(tool, ended=now))
        run.set_attributes(known(attributes.of_ending(outcome, event)))
        _close(run, now, error)
        self._run = self._call = None
        self._flush()

    def _write_call(
        self,
        searches: Sequence[_Tool],
        answer: Attributes,
        *,
        began: int,
        ended: int,
        error: str = "",
    ) -> None:
        said = {**attributes.of_call(self._model_id), **answer}
        self._call = self._started(
            f"chat {self._model_id}", said, at=began, below=self._run, kind=SpanKind.CLIENT
        )
        for search in searches:
            self._write_tool(search)
        _close(self._call, ended, error)
        self._free_since = ended

    def _write_tool(self, tool: _Tool) -> None:
        said = attributes.of_tool(tool.start, tool.end, capture=self._capture)
        # after a crash the first tools belong to a call of the run before
        parent = self._call or self._run
        span = self._started(f"tool-{tool.start.tool_name}", said, at=tool.began, below=parent)
        _close(span, tool.ended, _error_of(tool))

    def _started(
        self,
        name: str,
        said: Attributes,
        *,
        at: int,
        below: Span | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        return self._tracer.start_span(
            name,
            context=set_span_in_context(below, Context()) if below else Context(),
            kind=kind,
            attributes=known({**attributes.of_session(self._exploration), **said}),
            start_time=at,
        )


def _error_of(tool: _Tool) -> str:
    match tool.end:
        case ToolCallEnd():
            return ""
        case ToolCallError():
            return tool.end.error
        case None:
            return BROKEN_OFF


def _close(span: Span, at: int, error: str) -> None:
    if error:
        span.set_status(Status(StatusCode.ERROR, error))
    span.end(at)


def _nanoseconds(clock: Clock) -> Callable[[], int]:
    """The time as spans want it. It never runs backwards, whatever is done to the wall clock."""
    epoch, began = int(clock.now().timestamp() * 1_000_000_000), clock.monotonic()
    return lambda: epoch + round((clock.monotonic() - began) * 1_000_000_000)
