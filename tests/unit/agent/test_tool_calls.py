"""Each wrapper alone: checked, bounded, retried, recorded."""

import threading
from typing import Annotated

import pytest
from pydantic import Field

from idea_explorer.agent.tool_calls import ToolExecutor, ToolLimiter, ToolRecorder, ToolRetrier
from idea_explorer.agent.toolset import Arguments, Rule, Tool, Toolset
from idea_explorer.agent.validation import HINT, ArgumentValidator
from idea_explorer.domain import limits
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import (
    AuthFailedError,
    ExplorerError,
    ExternalError,
    NetworkError,
    RateLimitedError,
    RejectedError,
    ToolError,
    UnavailableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.events import ToolCallEnd, ToolCallError, ToolCallStart
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolCall, ToolResult
from tests.fakes.clock import ManualClock
from tests.fakes.engine import RecordedLog, Recorder


class Echo(Arguments):
    words: Annotated[str, Field(min_length=1), Rule("non-empty words")]
    times: Annotated[int, Field(ge=1, le=9), Rule("integer from 1 to 9")] = 1


class Scripted:
    """A tool body that does what it is told and counts how often it ran."""

    def __init__(self, *outcomes: ExplorerError | str) -> None:
        self._outcomes = list(outcomes)
        self.ran = 0

    def __call__(self, arguments: Echo) -> ToolResult:
        self.ran += 1
        outcome = self._outcomes[min(self.ran, len(self._outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return ToolResult.success({"said": outcome}, summary="Said it")


def tool(body: Scripted, note: str = "", time_limit: float = 5.0) -> Tool[Echo]:
    return Tool(
        name="echo",
        description="Say it.",
        arguments=Echo,
        run=body,
        example={"words": "hello"},
        note=note,
        time_limit=time_limit,
    )


def call(given: JsonObject, name: str = "echo") -> ToolCall:
    return ToolCall(id="c1", name=name, input=given)


def validated(body: Scripted, note: str = "") -> tuple[ArgumentValidator, RecordedLog]:
    log = RecordedLog()
    return ArgumentValidator(Toolset([tool(body, note)]), ToolExecutor(log), log), log


MISSING: list[JsonObject] = [
    {},
    {"words": None},
    {"words": ""},
    {"words": " \t\ufeff"},
    {"words": 7},
    {"words": ["x"]},
    {"words": {"x": 1}},
    {"words": True},
]


@pytest.mark.parametrize("given", MISSING)
def test_a_required_argument_that_is_not_there_is_explained_and_nothing_runs(
    given: JsonObject,
) -> None:
    body = Scripted("x")
    caller, log = validated(body)
    assert caller.call(call(given)).payload == {
        "ok": False,
        "error_type": "invalid_arguments",
        "message": "echo requires 'words' parameter (non-empty words)."
        ' Example: {"words": "hello"}',
        "hint": HINT,
    }
    assert body.ran == 0
    (line,) = log.of("Tool argument validation failed")
    assert line["toolName"] == "echo"
    assert "requires 'words'" in str(line["validationError"])


def test_an_optional_argument_may_be_null_but_not_wrong() -> None:
    body = Scripted("x")
    caller, _ = validated(body)
    assert caller.call(call({"words": "w", "times": None})).ok
    wrong = caller.call(call({"words": "w", "times": 10}))
    assert "requires 'times' parameter (integer from 1 to 9)" in str(wrong.payload["message"])


def test_an_argument_that_does_not_exist_is_named() -> None:
    caller, _ = validated(Scripted("x"))
    message = caller.call(call({"words": "w", "loud": True})).payload["message"]
    assert message == 'echo has no \'loud\' parameter. Example: {"words": "hello"}'


def test_a_better_tool_is_named_instead_of_the_example() -> None:
    caller, _ = validated(Scripted("x"), note="Note: Use web_search instead.")
    message = caller.call(call({})).payload["message"]
    assert message == (
        "echo requires 'words' parameter (non-empty words). Note: Use web_search instead."
    )


def test_the_same_bad_call_again_is_answered_in_one_line() -> None:
    body = Scripted("x")
    caller, _ = validated(body)
    first, second = caller.call(call({})), caller.call(call({}))
    assert "hint" in first.payload
    assert second.payload == {
        "ok": False,
        "error_type": "invalid_arguments",
        "message": "Same invalid echo call again; it was not executed.",
    }
    assert body.ran == 0


def test_an_unknown_tool_is_said_to_be_unknown() -> None:
    caller, _ = validated(Scripted("x"))
    assert caller.call(call({}, name="shout")).payload == {
        "ok": False,
        "error_type": "unknown_tool",
        "message": "Unknown tool: shout. The tools are: echo.",
    }


@pytest.mark.parametrize("name", ["Echo", "echoo", "ech"])
def test_a_tool_of_nearly_this_name_is_suggested(name: str) -> None:
    caller, _ = validated(Scripted("x"))
    message = str(caller.call(call({}, name=name)).payload["message"])
    assert message == f"Unknown tool: {name}. Did you mean echo? The tools are: echo."


def test_long_arguments_are_cut_in_the_log() -> None:
    caller, log = validated(Scripted("x"))
    caller.call(call({"loud": "x" * 5_000}))
    (line,) = log.of("Tool argument validation failed")
    assert len(str(line["args"])) < 200


TRANSIENT: list[ExternalError] = [
    NetworkError("refused"),
    UpstreamTimeoutError("slow"),
    RateLimitedError("429"),
    UnavailableError("503"),
]
PERMANENT: list[ExplorerError] = [
    AuthFailedError("401"),
    RejectedError("400"),
    ExternalError("500"),
    ToolError("file_not_found", "404"),
]


def retried(body: Scripted) -> tuple[ToolRetrier, ManualClock, RecordedLog]:
    clock, log = ManualClock(), RecordedLog()
    return ToolRetrier(ToolExecutor(log), clock, log), clock, log


@pytest.mark.parametrize("error", TRANSIENT)
def test_a_transient_failure_is_retried_once_after_a_second(error: ExternalError) -> None:
    body = Scripted(error, "hello")
    runner, clock, log = retried(body)
    result = runner.run(tool(body), Echo(words="w"))
    assert (result.ok, result.was_retried, body.ran, clock.slept) == (True, True, 2, [1.0])
    assert log.of("echo_retry_attempt") == [{"errorType": error.error_type}]


@pytest.mark.parametrize("error", TRANSIENT)
def test_a_transient_failure_that_stays_is_tried_twice_and_no_more(error: ExternalError) -> None:
    body = Scripted(error)
    runner, _, _ = retried(body)
    result = runner.run(tool(body), Echo(words="w"))
    assert (result.error_type, result.was_retried, body.ran) == (error.error_type, True, 2)


def test_a_wait_that_was_asked_for_is_waited() -> None:
    body = Scripted(RateLimitedError("429", retry_after=7.0), "hello")
    runner, clock, _ = retried(body)
    result = runner.run(tool(body, time_limit=20.0), Echo(words="w"))
    assert (result.ok, result.was_retried, clock.slept) == (True, True, [7.0])


def test_no_time_asked_for_is_too_short_for_a_pause() -> None:
    body = Scripted(RateLimitedError("429", retry_after=0.0), "hello")
    runner, clock, _ = retried(body)
    assert runner.run(tool(body), Echo(words="w")).ok
    assert clock.slept == [1.0]


@pytest.mark.parametrize(
    ("time_limit", "left", "is_waited"),
    [(8.0, 100.0, True), (6.0, 100.0, False), (60.0, 8.0, True), (60.0, 6.0, False)],
)
def test_a_wait_that_there_is_no_time_for_ends_the_call_at_once(
    time_limit: float, left: float, is_waited: bool
) -> None:
    body = Scripted(RateLimitedError("429", retry_after=7.0), "hello")
    clock, log = ManualClock(), RecordedLog()
    deadline = Deadline(clock, at=clock.monotonic() + left + 10.0, reserve=10.0)
    runner = ToolRetrier(ToolExecutor(log), clock, log, deadline)

    result = runner.run(tool(body, time_limit=time_limit), Echo(words="w"))

    assert (result.ok, body.ran) == ((True, 2) if is_waited else (False, 1))
    assert clock.slept == ([7.0] if is_waited else [])
    assert len(log.of("echo_retry_attempt")) == (1 if is_waited else 0)


@pytest.mark.parametrize("error", PERMANENT)
def test_a_permanent_failure_is_not_retried(error: ExplorerError) -> None:
    body = Scripted(error)
    runner, clock, _ = retried(body)
    result = runner.run(tool(body), Echo(words="w"))
    assert (result.was_retried, body.ran, clock.slept) == (False, 1, [])


def test_a_bug_in_a_tool_is_an_internal_error_and_is_logged() -> None:
    log = RecordedLog()

    class Broken(Scripted):
        def __call__(self, arguments: Echo) -> ToolResult:
            raise ZeroDivisionError

    result = ToolExecutor(log).run(tool(Broken()), Echo(words="w"))
    assert result.error_type == "internal_error"
    assert log.of("Tool raised an unexpected error")[0]["toolName"] == "echo"


def test_a_tool_that_hangs_is_cut_off() -> None:
    release = threading.Event()

    class Hanging(Scripted):
        def __call__(self, arguments: Echo) -> ToolResult:
            release.wait(10)
            return ToolResult.success({}, summary="")

    result = ToolLimiter(ToolExecutor(RecordedLog())).run(
        tool(Hanging(), time_limit=0.05), Echo(words="w")
    )
    release.set()
    assert result.payload["error_type"] == "timeout"
    assert result.payload["message"] == "echo did not answer in 0.05 s."
    assert (result.transient, result.was_retried) == (True, False)


def test_a_retry_that_is_cut_off_was_a_retry() -> None:
    release = threading.Event()

    class HangingSecond(Scripted):
        def __call__(self, arguments: Echo) -> ToolResult:
            self.ran += 1
            if self.ran == 1:
                raise UnavailableError("503")
            release.wait(10)
            return ToolResult.success({}, summary="")

    log = RecordedLog()
    runner = ToolLimiter(ToolRetrier(ToolExecutor(log), ManualClock(), log))
    result = runner.run(tool(HangingSecond(), time_limit=1.1), Echo(words="w"))
    release.set()
    assert (result.error_type, result.transient, result.was_retried) == ("timeout", True, True)


def test_a_slow_failure_is_not_retried_when_another_one_would_not_fit() -> None:
    clock, log = ManualClock(), RecordedLog()

    class Slow(Scripted):
        def __call__(self, arguments: Echo) -> ToolResult:
            self.ran += 1
            clock.pass_time(2.6)
            raise UpstreamTimeoutError("slow")

    body = Slow()
    result = ToolRetrier(ToolExecutor(log), clock, log).run(
        tool(body, time_limit=6.0), Echo(words="w")
    )
    assert (body.ran, result.transient, result.was_retried) == (1, True, False)


def test_a_tool_that_hangs_is_cut_off_where_the_time_for_writing_begins() -> None:
    release = threading.Event()

    class Hanging(Scripted):
        def __call__(self, arguments: Echo) -> ToolResult:
            release.wait(10)
            return ToolResult.success({}, summary="")

    deadline = Deadline(ManualClock(), at=0.2, reserve=0.1)
    bounded = ToolLimiter(ToolExecutor(RecordedLog()), deadline)
    result = bounded.run(tool(Hanging(), time_limit=60.0), Echo(words="w"))
    release.set()
    assert result.payload["error_type"] == "timeout"
    assert result.payload["message"] == "echo did not answer in 0.1 s."


def test_what_a_bug_was_about_never_reaches_the_log() -> None:
    log = RecordedLog()
    content = bytes.fromhex("534543524554ff")  # SECRET, and then no text at all

    class Reading(Scripted):
        def __call__(self, arguments: Echo) -> ToolResult:
            return ToolResult.success({"text": content.decode()}, summary="")

    ToolExecutor(log).run(tool(Reading()), Echo(words="w"))
    (line,) = log.of("Tool raised an unexpected error")
    assert line["errorType"] == "UnicodeDecodeError"
    assert "__call__" in str(line["traceback"])
    assert "SECRET" not in str(line)


def test_a_result_that_is_too_large_is_shortened_and_says_so() -> None:
    result = ToolLimiter(ToolExecutor(RecordedLog())).run(
        tool(Scripted("x" * (limits.MAX_RESULT_CHARS + 5_000))), Echo(words="w")
    )
    assert result.payload["truncated"] is True
    assert len(str(result.payload["said"])) < limits.MAX_RESULT_CHARS


def test_calls_become_events_with_their_records() -> None:
    sink, log, clock = Recorder(), RecordedLog(), ManualClock()
    body = Scripted("hello", ToolError("file_not_found", "No such file"))
    caller = ToolRecorder(
        ArgumentValidator(Toolset([tool(body)]), ToolExecutor(log), log), sink, clock
    )
    caller.call(call({"words": "a"}))
    caller.call(call({"words": "b"}))
    started, ended, _, failed = sink.events
    assert isinstance(started, ToolCallStart)
    assert started.tool_name == "echo"
    assert isinstance(ended, ToolCallEnd)
    assert (ended.summary, ended.record.ok, ended.output) == (
        "Said it",
        True,
        {"ok": True, "said": "hello"},
    )
    assert isinstance(failed, ToolCallError)
    assert (failed.error, failed.retryable, failed.record.error_type) == (
        "No such file",
        False,
        "file_not_found",
    )
