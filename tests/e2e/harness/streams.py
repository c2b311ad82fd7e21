"""Streamed responses: as a runtime sends them to Lambda, and as API Gateway takes them from there.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html,
https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html, and what
the open source of Lambda's runtime API does (aws/aws-lambda-runtime-interface-emulator).
"""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BufferedIOBase

Sink = Callable[[bytes], None]
ERROR_TYPE = "Lambda-Runtime-Function-Error-Type"
ERROR_BODY = "Lambda-Runtime-Function-Error-Body"
DELIMITER = bytes(8)
MAX_PRELUDE = (
    16_376  # with the delimiter 16 KiB: beyond that, deployed APIs were seen to answer 502
)


class TruncatedError(Exception):
    """The connection ended before the response did."""


def read_chunked(body: BufferedIOBase, announced: str, sink: Sink) -> dict[str, str]:
    """Give each chunk to the sink when it is there. Returns the trailers; as in Go's server, which is
    Lambda's, only those that the header `Trailer` announced."""
    while size := int(_line(body), 16):
        chunk = body.read(size)
        if len(chunk) != size or _line(body):
            raise TruncatedError
        sink(chunk)
    known = {name.strip().lower() for name in announced.split(",")}
    trailers = {}
    while line := _line(body):
        name, _, value = line.partition(":")
        if name.lower() in known:
            trailers[name.lower()] = value.strip()
    return trailers


def error_in(trailers: Mapping[str, str]) -> dict[str, str] | None:
    """The error that came up after the response had begun."""
    if ERROR_TYPE.lower() not in trailers:
        return None
    body = json.loads(base64.b64decode(trailers[ERROR_BODY.lower()], validate=True))
    return {**body, "errorType": trailers[ERROR_TYPE.lower()]}


def _line(body: BufferedIOBase) -> str:
    line = body.readline(65_536)
    if not line.endswith(b"\r\n"):
        raise TruncatedError
    return line[:-2].decode("ascii")


class MalformedPreludeError(Exception):
    """API Gateway answers 502."""


@dataclass
class Response:
    """What API Gateway has of a streamed response: status and headers once all of them are there, and the
    part of the body that is not sent on yet."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def add(self, part: bytes) -> None:
        self.body += part
        if self.status is None:
            prelude, delimiter, rest = self.body.partition(DELIMITER)
            if len(prelude) > MAX_PRELUDE:
                raise MalformedPreludeError("The metadata is too long.")
            if delimiter:
                self.status, self.headers = _read_prelude(prelude)
                self.body = rest

    def take(self) -> bytes:
        """The part of the body that came since the last call."""
        taken, self.body = self.body, b""
        return taken


def _read_prelude(prelude: bytes) -> tuple[int, Mapping[str, str]]:
    """Lists are for `multiValueHeaders` and `cookies`; in `headers`, API Gateway answers 502 to them."""
    try:
        found = json.loads(prelude)
    except ValueError as error:
        raise MalformedPreludeError("The metadata is not JSON.") from error
    match found:
        case {"statusCode": int(status), "headers": dict(headers), **rest} if not rest:
            if all(isinstance(value, str) for value in headers.values()):
                return status, headers
    raise MalformedPreludeError("The metadata has another form.")
