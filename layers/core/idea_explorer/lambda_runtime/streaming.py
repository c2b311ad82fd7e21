"""A runtime that streams the response of a function. Lambda's own for Python collects it before it is sent.

It takes events from Lambda's runtime API and streams to it what the handler returns, in the form that API
Gateway expects: a JSON object with status and headers, eight zero bytes, the body. Rules and reasons are in
docs/adr/0026.
"""

from __future__ import annotations

import base64
import json
import os
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.lambda_runtime.handlers import log
from idea_explorer.wiring.local import system_clock

if TYPE_CHECKING:
    from http.client import HTTPResponse

Handler: TypeAlias = "Callable[[Mapping[str, Any], Invocation], Mapping[str, Any]]"

RUNTIME = "/2018-06-01/runtime"
CONTENT_TYPE = "application/vnd.awslambda.http-integration-response"
DELIMITER = bytes(8)
ERROR_TYPE = "Lambda-Runtime-Function-Error-Type"
ERROR_BODY = "Lambda-Runtime-Function-Error-Body"


class RuntimeApiError(Exception):
    """Lambda can go on with another process only, so this one has to end."""


@dataclass(frozen=True)
class Invocation:
    """Lambda's context of one call, as the API and Powertools use it."""

    aws_request_id: str
    invoked_function_arn: str
    deadline_ms: int
    function_name: str
    memory_limit_in_mb: str
    streams: bool = True  # the API may return a body in parts

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self.deadline_ms - round(system_clock().now().timestamp() * 1_000))


class RuntimeApi:
    """https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html"""

    def __init__(self, address: str) -> None:
        self._address = address

    def next(self) -> tuple[Invocation, Mapping[str, Any]]:
        """Waits for the next call, however long that takes. Lambda freezes the process meanwhile."""
        with closing(HTTPConnection(self._address)) as connection:
            connection.request("GET", f"{RUNTIME}/invocation/next")
            response = connection.getresponse()
            body = response.read()
        if response.status != HTTPStatus.OK:
            raise RuntimeApiError(f"Lambda has no next call: {response.status}.")
        os.environ["_X_AMZN_TRACE_ID"] = response.headers.get("Lambda-Runtime-Trace-Id", "")
        return _read_invocation(response), json.loads(body)

    def stream(self, request_id: str, answer: Mapping[str, Any]) -> None:
        """Send the answer, each part of its body when it is there."""
        with (
            closing(HTTPConnection(self._address)) as connection,
            closing(_chunks(answer)) as chunks,
        ):
            connection.putrequest("POST", f"{RUNTIME}/invocation/{request_id}/response")
            connection.putheader("Content-Type", CONTENT_TYPE)
            connection.putheader("Lambda-Runtime-Function-Response-Mode", "streaming")
            connection.putheader("Transfer-Encoding", "chunked")
            connection.putheader("Trailer", f"{ERROR_TYPE}, {ERROR_BODY}")
            connection.endheaders()
            for chunk in chunks:
                connection.send(chunk)
            _check(connection.getresponse())

    def report_error(self, path: str, error: Exception) -> None:
        """Of a call, or of the start, that failed before there was a response."""
        headers = {"Content-Type": "application/json", ERROR_TYPE: _type_of(error)}
        with closing(HTTPConnection(self._address)) as connection:
            connection.request("POST", f"{RUNTIME}/{path}/error", _describe(error), headers)
            _check(connection.getresponse())


def serve_next(api: RuntimeApi, handler: Handler) -> None:
    """Handle the next call. Raises RuntimeApiError if no further one can come."""
    invocation, event = api.next()
    try:
        answer = handler(event, invocation)
    except Exception as error:  # noqa: BLE001  whatever it was, Lambda is told
        _log("invocation_failed", error)
        api.report_error(f"invocation/{invocation.aws_request_id}", error)
        return
    try:
        api.stream(invocation.aws_request_id, answer)
    except (OSError, HTTPException) as error:
        _log("stream_broken", error)


def main() -> None:
    api = RuntimeApi(os.environ["AWS_LAMBDA_RUNTIME_API"])
    try:
        module, _, name = os.environ["_HANDLER"].rpartition(".")
        handler: Handler = getattr(import_module(module), name)
    except Exception as error:
        api.report_error("init", error)
        raise
    while True:
        serve_next(api, handler)


def _read_invocation(response: HTTPResponse) -> Invocation:
    headers = response.headers
    return Invocation(
        aws_request_id=headers["Lambda-Runtime-Aws-Request-Id"],
        invoked_function_arn=headers["Lambda-Runtime-Invoked-Function-Arn"],
        deadline_ms=int(headers["Lambda-Runtime-Deadline-Ms"]),
        function_name=os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        memory_limit_in_mb=os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"],
    )


def _prelude(answer: Mapping[str, Any]) -> bytes:
    """Headers with one value each: API Gateway takes no lists there."""
    headers = {name: ", ".join(values) for name, values in answer["multiValueHeaders"].items()}
    return json.dumps({"statusCode": answer["statusCode"], "headers": headers}).encode()


def _chunks(answer: Mapping[str, Any]) -> Generator[bytes, None, None]:
    """The response in HTTP's chunked transfer encoding. Its trailers say if making a part of it failed."""
    yield _chunk(_prelude(answer) + DELIMITER)
    trailers = b""
    body = answer["body"]
    try:
        for part in [body] if isinstance(body, str) else body:
            if part:  # an empty chunk would be the last
                yield _chunk(part.encode())
    except Exception as error:  # noqa: BLE001  whatever it was, Lambda is told
        _log("stream_failed", error)
        trailers = _trailers(error)
    yield b"0\r\n" + trailers + b"\r\n"


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _trailers(error: Exception) -> bytes:
    body = base64.b64encode(_describe(error)).decode()
    return f"{ERROR_TYPE}: {_type_of(error)}\r\n{ERROR_BODY}: {body}\r\n".encode()


def _describe(error: Exception) -> bytes:
    """Without its message, which may quote what was sent in."""
    kind = _type_of(error)
    return json.dumps({"errorType": kind, "errorMessage": kind, "stackTrace": []}).encode()


def _type_of(error: Exception) -> str:
    return f"Runtime.{type(error).__name__}"


def _check(response: HTTPResponse) -> None:
    """A call whose time is over is refused, and another one may follow; after a 500 none can."""
    response.read()
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise RuntimeApiError(f"Lambda failed to take a response: {response.status}.")
    if response.status != HTTPStatus.ACCEPTED:
        log().warning("response_refused", status=response.status)


def _log(event: str, error: Exception) -> None:
    frames = "".join(traceback.format_tb(error.__traceback__))
    log().error(event, errorType=type(error).__name__, traceback=frames)


if __name__ == "__main__":
    main()
