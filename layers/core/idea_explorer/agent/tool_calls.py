"""What every tool call goes through, one small wrapper for each concern.

    ToolRecorder(ArgumentValidator(toolset, ToolLimiter(ToolRetrier(ToolExecutor()), deadline)), sink)

`ArgumentValidator` is in validation.py. A valid call gets a time limit and at most one retry. Whatever
happens, the caller gets a ToolResult: no wrapper lets an exception of a tool through.
"""

import math
import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from idea_explorer.agent.toolset import Arguments, Tool
from idea_explorer.domain import limits
from idea_explorer.domain.deadline import (
    Clock,
    Deadline,
    TimeLimitExceededError,
    run_with_time_limit,
)
from idea_explorer.domain.errors import ExternalError, ToolError
from idea_explorer.domain.events import ToolCallEnd, ToolCallError, ToolCallStart
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.retry import RetryPolicy
from idea_explorer.domain.threads import run_in_thread
from idea_explorer.domain.tools import ToolCall, ToolRecord, ToolResult
from idea_explorer.ports import EventSink, Log

RETRY = RetryPolicy(first=1.0, attempts=2, shortest=1.0)
ONE_CHANGE = "Put all changes of a file into one call, or propose this one once that is decided."
LATE_SHARE = 0.05  # of the time for writing; enough for most tools after a late answer


class Caller(Protocol):
    """Answers a call of the model, whose arguments may be wrong."""

    def call(self, call: ToolCall) -> ToolResult: ...


class Runner(Protocol):
    """Runs a tool with valid arguments."""

    def run(self, tool: Tool[Any], arguments: Arguments) -> ToolResult: ...


@dataclass(frozen=True)
class ToolExecutor:
    """Runs the tool, and turns what it raises into a result."""

    _log: Log

    def run(self, tool: Tool[Any], arguments: Arguments) -> ToolResult:
        try:
            return tool.run(arguments)
        except ToolError as error:
            return ToolResult.from_error(error)
        except ExternalError as error:
            return ToolResult.failure(
                error.error_type,
                error.sentence,
                transient=error.retryable,
                retry_after=error.retry_after,
            )
        except TimeLimitExceededError:
            raise  # nobody waits for the result
        except Exception as error:  # noqa: BLE001  a bug in one tool must not end a paid run
            import traceback

            # without its message, which may quote a file
            self._log.error(
                "Tool raised an unexpected error",
                toolName=tool.name,
                errorType=type(error).__name__,
                traceback="".join(traceback.format_tb(error.__traceback__)),
            )
            return ToolResult.failure("internal_error", f"{tool.name} failed unexpectedly.")


@dataclass(frozen=True)
class ToolRetrier:
    """Retries a transient failure once: after a second, or after the wait that the service asked for,
    unless there is no time for that and for an attempt as long as the first."""

    inner: Runner
    clock: Clock
    _log: Log
    deadline: Deadline | None = None

    def run(self, tool: Tool[Any], arguments: Arguments) -> ToolResult:
        began = self.clock.monotonic()
        first = self.inner.run(tool, arguments)
        took = self.clock.monotonic() - began
        if not first.transient or not tool.reads_only:
            return first
        wait = RETRY.pause(1, first.retry_after)
        left = min(tool.time_limit - took, _time_left(self.deadline))
        if wait + took > left:
            return first
        self._log.warning(f"{tool.name}_retry_attempt", errorType=first.error_type)
        self.clock.sleep(wait)
        return replace(self.inner.run(tool, arguments), was_retried=True)


@dataclass(frozen=True)
class ToolLimiter:
    """Limits how long a tool may take and how much it may return. The time limit covers both attempts and
    ends when the time for writing begins. A tool that exceeds it runs on in its daemon thread until it asks
    check_time_limit; its result is dropped."""

    inner: Runner
    deadline: Deadline | None = None

    def run(self, tool: Tool[Any], arguments: Arguments) -> ToolResult:
        limit = min(tool.time_limit, _time_left(self.deadline))
        attempts = 0

        def attempt(given: Arguments) -> ToolResult:
            nonlocal attempts
            attempts += 1
            return tool.run(given)

        counted = replace(tool, run=attempt)
        try:
            result = run_with_time_limit(
                lambda: self.inner.run(counted, arguments), limit, name=f"tool-{tool.name}"
            )
        except TimeLimitExceededError:
            message = f"{tool.name} did not answer in {round(limit, 2):g} s."
            failure = ToolResult.failure("timeout", message, transient=tool.reads_only)
            return replace(failure, was_retried=attempts > 1)
        return _shorten(result)


def _time_left(deadline: Deadline | None) -> float:
    if deadline is None:
        return math.inf
    return max(deadline.gathering_left, LATE_SHARE * deadline.left, 0.0)


@dataclass(frozen=True)
class ToolRecorder:
    """Emits events for every call; log lines, metrics and history are made from them."""

    inner: Caller
    sink: EventSink
    clock: Clock

    def call(self, call: ToolCall) -> ToolResult:
        return self.call_and_record(call)[0]

    def call_and_record(
        self, call: ToolCall, step: int | None = None
    ) -> tuple[ToolResult, ToolRecord]:
        self.sink.emit(ToolCallStart(tool_call_id=call.id, tool_name=call.name, input=call.input))
        began = self.clock.monotonic()
        result = self.inner.call(call)
        took = round((self.clock.monotonic() - began) * 1_000)
        record = _record_of(call, result, took, step)
        if result.proposal is None:
            self.sink.emit(_end_event(call, result, record))
        return result, record

    def call_all(self, calls: Sequence[ToolCall], step: int) -> list[tuple[ToolResult, ToolRecord]]:
        """The results of the calls of one answer, which run in parallel."""
        ran = run_in_parallel([partial(self.call_and_record, call, step) for call in calls])
        return self._refuse_second_changes(calls, ran)

    def _refuse_second_changes(
        self, calls: Sequence[ToolCall], ran: Sequence[tuple[ToolResult, ToolRecord]]
    ) -> list[tuple[ToolResult, ToolRecord]]:
        """Of the changes that one answer proposes to a file, all but the first are refused: they were made
        from the file as it was before, so they could not be written after it."""
        taken: set[str] = set()
        kept: list[tuple[ToolResult, ToolRecord]] = []
        for call, (result, record) in zip(calls, ran, strict=True):
            proposal = result.proposal
            paths = proposal.paths if proposal else set()
            if not (again := paths & taken):
                taken |= paths
                kept.append((result, record))
                continue
            message = f"Another call of this answer changes {min(again)} already."
            refused = ToolResult.failure("invalid_arguments", message, hint=ONE_CHANGE)
            refusal = _record_of(call, refused, record.duration_ms, record.step)
            self.sink.emit(_end_event(call, refused, refusal))
            kept.append((refused, refusal))
        return kept


def _record_of(
    call: ToolCall, result: ToolResult, duration_ms: int, step: int | None
) -> ToolRecord:
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


def _end_event(
    call: ToolCall, result: ToolResult, record: ToolRecord
) -> ToolCallEnd | ToolCallError:
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


def _shorten(result: ToolResult) -> ToolResult:
    """Cut the longest string of a result that is too large."""
    excess = len(result.canonical) - limits.MAX_RESULT_CHARS
    if excess <= 0:
        return result
    texts = {key: value for key, value in result.payload.items() if isinstance(value, str)}
    longest = max(texts, key=lambda key: len(texts[key]), default=None)
    if longest is None or len(texts[longest]) <= excess:
        return ToolResult.failure("internal_error", "The result was too large to return.")
    cut: JsonObject = {longest: texts[longest][: -excess - 1], "truncated": True}
    return replace(result, payload={**result.payload, **cut})


T = TypeVar("T")


def run_in_parallel(functions: Sequence[Callable[[], T]]) -> list[T]:
    """Run every function in a thread of its own; when all are done, raise the first exception, in order."""
    if len(functions) == 1:
        return [functions[0]()]
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}
    ended: queue.SimpleQueue[int] = queue.SimpleQueue()

    def run(index: int) -> None:
        try:
            results[index] = functions[index]()
        except BaseException as error:  # noqa: BLE001  raised again below, in the caller's thread
            errors[index] = error
        ended.put(index)

    for index in range(len(functions)):
        run_in_thread(partial(run, index), name="tool-call")
    for _ in functions:
        ended.get()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(functions))]
