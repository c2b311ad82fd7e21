"""The runtime that streams, against a runtime API that keeps Lambda's rules."""

import json
import os
import queue
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.lambda_runtime import streaming
from idea_explorer.lambda_runtime.streaming import RuntimeApi, RuntimeApiError, serve_next
from tests.e2e.harness.runtime import Answer, Function, _Invocation, serve_runtime_api
from tests.e2e.harness.serving import Replying, port_of, serve, stop
from tests.e2e.harness.streams import Response, Sink

HEADERS = {"Content-Type": ["text/event-stream"], "Cache-Control": ["no-store"]}


class Calls:
    """Stands in for an execution environment: hands out one call and keeps what came back."""

    function = Function("follow", Path(), timeout=75, memory=512, environment={})

    def __init__(self) -> None:
        self.invocation = _Invocation("call-1", b'{"path": "/"}', "Root=1-2-3", seconds=75)
        self.parts: queue.Queue[bytes] = queue.Queue()
        self.answers: list[Answer] = []
        self.expected = "call-1"

    def next(self) -> _Invocation:
        return self.invocation

    def answered(self, invocation_id: str, answer: Answer) -> None:
        assert invocation_id == self.expected
        self.answers.append(answer)

    def failed_to_start(self, payload: Any) -> None:
        self.answers.append(Answer(payload, payload["errorType"]))

    def sink_of(self, invocation_id: str) -> Sink | None:
        return self.parts.put if invocation_id == self.expected else None

    def response(self) -> Response:
        """As API Gateway reads it."""
        response = Response()
        while not self.parts.empty():
            response.add(self.parts.get())
        return response


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
def api(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> Iterator[RuntimeApi]:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "follow")
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "")
    server = serve_runtime_api(calls)  # type: ignore[arg-type]
    address = f"127.0.0.1:{port_of(server)}"
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", address)
    yield RuntimeApi(address)
    stop(server)


def answer_with(body: object, status: int = 200) -> dict[str, Any]:
    return {"statusCode": status, "multiValueHeaders": HEADERS, "body": body}


def test_each_part_is_sent_before_the_next_is_made(api: RuntimeApi, calls: Calls) -> None:
    def parts() -> Iterator[str]:
        response.add(calls.parts.get(timeout=60))
        for text in ("zwölf\n\n", "", "b" * 100_000):
            yield text
            if text:
                response.add(calls.parts.get(timeout=60))
                sent.append(response.take().decode())

    response, sent = Response(), list[str]()

    serve_next(api, lambda event, context: answer_with(parts()))

    assert sent == ["zwölf\n\n", "b" * 100_000]
    assert calls.answers == [Answer(None)]
    assert response.status == 200
    assert response.headers == {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


@pytest.mark.parametrize(("status", "body"), [(200, '{"events": []}'), (404, "{}"), (204, "")])
def test_a_body_in_one_part_is_sent_in_the_same_form(
    api: RuntimeApi, calls: Calls, status: int, body: str
) -> None:
    serve_next(api, lambda event, context: answer_with(body, status))

    response = calls.response()
    assert (response.status, response.take()) == (status, body.encode())


def test_an_error_while_the_response_is_streamed_follows_what_was_sent(
    api: RuntimeApi, calls: Calls
) -> None:
    def parts() -> Iterator[str]:
        yield "a"
        raise ValueError("what somebody wrote")

    serve_next(api, lambda event, context: answer_with(parts()))

    assert calls.response().take() == b"a"
    (answer,) = calls.answers
    assert answer.error == "Runtime.ValueError"
    assert "somebody" not in str(answer.payload)


def test_an_error_before_the_response_is_reported_without_what_it_quotes(
    api: RuntimeApi, calls: Calls
) -> None:
    def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        raise KeyError("what somebody wrote")

    serve_next(api, handler)

    (answer,) = calls.answers
    assert answer.error == "Runtime.KeyError"
    assert "somebody" not in str(answer.payload)
    assert calls.parts.empty()


def test_a_call_knows_its_time_its_trace_and_that_it_may_stream(
    api: RuntimeApi, calls: Calls
) -> None:
    seen: list[Any] = []

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        seen.extend([event, context, os.environ["_X_AMZN_TRACE_ID"]])
        return answer_with("")

    serve_next(api, handler)

    event, context, trace = seen
    assert event == {"path": "/"}
    assert 70_000 < context.get_remaining_time_in_millis() <= 75_000
    assert (context.aws_request_id, context.function_name) == ("call-1", "follow")
    assert context.streams
    assert trace == "Root=1-2-3"


def test_a_response_that_comes_too_late_does_not_end_the_runtime(
    api: RuntimeApi, calls: Calls
) -> None:
    calls.expected = "call-2"
    serve_next(api, lambda event, context: answer_with("late"))

    assert (calls.answers, calls.parts.empty()) == ([], True)


def test_whoever_makes_the_parts_hears_that_nobody_takes_them(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lambda closes the connection, for instance because the time is over."""
    closed = threading.Event()

    def parts() -> Iterator[str]:
        try:
            while True:
                yield "x" * 1_000_000
        finally:
            closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            left = 100_000  # more than the head, so that parts have come
            while left > 0:
                left -= len(connection.recv(left))
            connection.close()

        port = listener.getsockname()[1]
        threading.Thread(target=hang_up, daemon=True).start()
        with pytest.raises(OSError):  # noqa: PT011  # which one depends on the moment
            RuntimeApi(f"127.0.0.1:{port}").stream("call-1", answer_with(parts()))

    assert closed.is_set()


def test_a_function_that_cannot_be_loaded_says_so(
    api: RuntimeApi, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_HANDLER", "no_such_module.handler")

    with pytest.raises(ModuleNotFoundError):
        streaming.main()

    assert calls.answers[0].error == "Runtime.ModuleNotFoundError"


def test_a_runtime_api_that_has_failed_ends_the_process() -> None:
    class Broken(Replying):
        def _fail(self) -> None:
            self.read_body()
            self.reply(500, json.dumps({"errorType": "InternalServerError"}).encode())

        do_GET = _fail  # noqa: N815

    server = serve(Broken)
    try:
        with pytest.raises(RuntimeApiError):
            serve_next(RuntimeApi(f"127.0.0.1:{port_of(server)}"), lambda event, context: {})
    finally:
        stop(server)
