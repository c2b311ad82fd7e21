"""Cross-cutting behaviour around every tool, one small wrapper each.

    Recorded(Validated(toolset, Bounded(Retried(Executed()), deadline)), sink)

A call is checked first; only a good one is timed, tried and, at most once, tried again. Whatever happens, a
well-formed ToolResult comes back: no wrapper lets an exception of a tool through.
"""

import json
import math
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from pydantic import JsonValue, ValidationError

from idea_explorer.agent.toolset import Arguments, Tool, Toolset
from idea_explorer.agent.validation import explain, present
from idea_explorer.domain import limits
from idea_explorer.domain.deadline import Clock, Deadline
from idea_explorer.domain.errors import ExternalError, ToolError
from idea_explorer.domain.events import ToolCallEnd, ToolCallError, ToolCallStart
from idea_explorer.domain.json import JsonObject, canonical
from idea_explorer.domain.retry import RetryPolicy
from idea_explorer.domain.time_limit import TimeLimitExceededError, run_with_time_limit
from idea_explorer.domain.tools import ToolCall, ToolRecord, ToolResult
from idea_explorer.ports import EventSink, Log

RETRY = RetryPolicy(first=1.0, attempts=2, shortest=1.0)
LATE_SHARE = 0.05  # of the time for writing; enough for most tools when an answer came late
HINT = "Provide all required parameters with correct types and non-empty values"


class Caller(Protocol):
    """Answers calls as they come from the model."""

    def call(self, call: ToolCall) -> ToolResult: ...


class Runner(Protocol):
    """Runs a tool whose arguments are known to be good."""

    def run(self, tool: Tool[Any], arguments: Arguments) -> ToolResult: ...


class Executed:
    """The innermost: runs the tool, and makes a result of whatever comes out."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def run(self, tool: Tool[Any], arguments: Arguments) -> ToolResult:
        try:
            return ToolResult.success(tool.run(arguments))
        except ToolError as error:
            return ToolResult.from_error(error)
        except ExternalError as error:
            return ToolResult.failure(
                error.error_type,
                error.sentence,
                transient=error.retryable,
                retry_after=error.retry_after,
            )
        except Exception as error:  # noqa: BLE001  a bug in one tool must not end a paid run
            # by its kind and place alone: its message may quote a file
            self._log.error(
                "Tool raised an unexpected error",
                toolName=tool.name,
                errorType=type(error).__name__,
                traceback="".join(traceback.format_tb(error.__traceback__)),
            )
            return ToolResult.failure("internal_error", f"{tool.name} failed unexpectedly.")


class Retried:
    """Tries once more what failed in a way that may pass: after a second, or after as long as the
    service asked for. Where there is no time for that long a wait, there is no second try."""

    def __init__(
        self, inner: Runner, clock: Clock, log: Log, deadline: Deadline | None = None
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._log = log
        self._deadline = deadline

    def run(self, tool: Tool[Any], arguments: Arguments) -> ToolResult:
        began = self._clock.monotonic()
        first = self._inner.run(tool, arguments)
        took = self._clock.monotonic() - began
        if not first.transient or not tool.reads_only:
            return first
        wait = RETRY.pause(1, first.retry_after)
        left = min(tool.time_limit - took, _time_left(self._deadline))
        # the second try may take as long as the first did
        if first.retry_after is not None and wait + took > left:
            return first
        self._log.warning(f"{tool.name}_retry_attempt", errorType=first.error_type)
        self._clock.sleep(wait)
        return replace(self._inner.run(tool, arguments), was_retried=True)


class Bounded:
    """Cuts off a tool that hangs, and a result that would crowd out the conversation.

    The limit spans both attempts, and ends where the time for writing begins. A tool that is cut off
    goes on in its daemon thread, unheard.
    """

    def __init__(self, inner: Runner, deadline: Deadline | None = None) -> None:
        self._inner = inner
        self._deadline = deadline

    def run(self, tool: Tool[Any], arguments: Arguments) -> ToolResult:
        limit = min(tool.time_limit, _time_left(self._deadline))
        try:
            result = run_with_time_limit(
                lambda: self._inner.run(tool, arguments), limit, name=f"tool-{tool.name}"
            )
        except TimeLimitExceededError:
            message = f"{tool.name} did not answer in {round(limit, 2):g} s."
            return ToolResult.failure("timeout", message)
        return _shortened(result)


def _time_left(deadline: Deadline | None) -> float:
    if deadline is None:
        return math.inf
    return max(deadline.gathering_left, LATE_SHARE * deadline.left, 0.0)


class Validated:
    """Checks every call before anything runs. A bad call is answered once in full, then in one line."""

    def __init__(self, toolset: Toolset, inner: Runner, log: Log) -> None:
        self._toolset = toolset
        self._inner = inner
        self._log = log
        self._refused: set[str] = set()
        self._refusing = threading.Lock()  # the calls of one step run side by side

    def call(self, call: ToolCall) -> ToolResult:
        if call.name in self._toolset.server_tools:
            return self._refuse(call, f"{call.name} runs at Anthropic and cannot be called here.")
        tool = self._toolset.tools.get(call.name)
        if tool is None:
            return ToolResult.failure("unknown_tool", f"Unknown tool: {call.name}")
        try:
            arguments = tool.arguments.model_validate(present(tool.arguments, call.input))
        except ValidationError as error:
            return self._refuse(call, explain(tool, error))
        except ToolError as error:
            # a rule of the tool's own, such as a path rule, which has its own error type
            return ToolResult.from_error(error)
        return self._inner.run(tool, arguments)

    def _refuse(self, call: ToolCall, message: str) -> ToolResult:
        self._log.error(
            "Tool argument validation failed",
            toolName=call.name,
            args=_outline(call.input),
            validationError=message,
        )
        with self._refusing:
            again = call.key in self._refused
            self._refused.add(call.key)
        if again:
            return ToolResult.failure(
                "invalid_arguments", f"Same invalid {call.name} call again; it was not executed."
            )
        return ToolResult.failure("invalid_arguments", message, hint=HINT)


class Recorded:
    """Turns every call into events; log lines, metrics and history follow from those."""

    def __init__(self, inner: Caller, sink: EventSink, clock: Clock) -> None:
        self._inner = inner
        self._sink = sink
        self._clock = clock

    def call(self, call: ToolCall) -> ToolResult:
        return self.recorded(call)[0]

    def recorded(self, call: ToolCall, step: int | None = None) -> tuple[ToolResult, ToolRecord]:
        self._sink.emit(ToolCallStart(tool_call_id=call.id, tool_name=call.name, input=call.input))
        began = self._clock.monotonic()
        result = self._inner.call(call)
        took = round((self._clock.monotonic() - began) * 1_000)
        record = _record(call, result, took, step)
        if result.proposal is None:
            self._sink.emit(_ending(call, result, record))
        return result, record


def _record(call: ToolCall, result: ToolResult, duration_ms: int, step: int | None) -> ToolRecord:
    path = call.input.get("path")
    return ToolRecord(
        name=call.name,
        path=path[: limits.MAX_LOGGED_PATH] if isinstance(path, str) else None,
        duration_ms=duration_ms,
        ok=result.ok,
        bytes=result.size,
        error_type=result.error_type,
        was_retried=result.was_retried,
        step=step,
    )


def _ending(call: ToolCall, result: ToolResult, record: ToolRecord) -> ToolCallEnd | ToolCallError:
    if result.ok:
        return ToolCallEnd(
            tool_call_id=call.id,
            summary=result.summary,
            result_count=result.result_count,
            duration_ms=record.duration_ms,
            output=result.payload,
            record=record,
        )
    return ToolCallError(
        tool_call_id=call.id,
        error=result.summary,
        retryable=result.transient,
        was_retried=result.was_retried,
        record=record,
    )


def _shortened(result: ToolResult) -> ToolResult:
    """The result, with its longest string cut where the whole would be too large."""
    excess = len(canonical(result.payload)) - limits.MAX_RESULT_CHARS
    if excess <= 0:
        return result
    texts = {key: value for key, value in result.payload.items() if isinstance(value, str)}
    longest = max(texts, key=lambda key: len(texts[key]), default=None)
    if longest is None or len(texts[longest]) <= excess:
        return ToolResult.failure("internal_error", "The result was too large to return.")
    cut: JsonObject = {longest: texts[longest][: -excess - 1], "truncated": True}
    return replace(result, payload={**result.payload, **cut})


def _outline(arguments: JsonObject) -> dict[str, JsonValue]:
    """Arguments for the log: names and short values; contents are cut."""
    return {
        name[:100]: value if isinstance(value, bool | int | float) or value is None else _cut(value)
        for name, value in list(arguments.items())[:20]
    }


def _cut(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= limits.MAX_LOGGED_VALUE else text[: limits.MAX_LOGGED_VALUE] + "…"


T = TypeVar("T")


def side_by_side(functions: Sequence[Callable[[], T]]) -> list[T]:
    """Every function has its own thread. The first exception, in order, is raised when all are done."""
    if len(functions) == 1:
        return [functions[0]()]
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def run(index: int) -> None:
        try:
            results[index] = functions[index]()
        except BaseException as error:  # noqa: BLE001  raised again below, in the caller's thread
            errors[index] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(functions))]
