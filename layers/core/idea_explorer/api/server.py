"""The API on this machine: HTTP in, API Gateway's events to the same handler, HTTP out."""

import base64
import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import SplitResult, parse_qs, urlsplit

from idea_explorer.api.answer import SECURITY_HEADERS
from idea_explorer.api.app import Handler
from idea_explorer.api.authorizer import UnauthorizedError, authorize
from idea_explorer.api.call import MAX_DECISION_BYTES, too_large
from idea_explorer.api.errors import RequestError, request_error
from idea_explorer.domain import limits
from idea_explorer.domain.errors import ConfigurationError, ExplorerError

CALL_SECONDS = 29.0  # what API Gateway allows
IDLE_SECONDS = 65.0
LOCAL_ARN = "arn:aws:execute-api:local:000000000000:local/local/*/*"


@dataclass(frozen=True)
class LocalContext:
    """What a handler asks of Lambda's context."""

    function_name: str = "api"

    def get_remaining_time_in_millis(self) -> int:
        return int(CALL_SECONDS * 1_000)


def gateway_event(
    method: str, target: str, headers: Mapping[str, str], body: bytes, owner: str | None
) -> dict[str, Any]:
    """A request as API Gateway's REST proxy hands it to a function."""
    parts = _split(target)
    query = parse_qs(parts.query, keep_blank_values=True)
    return {
        "httpMethod": method,
        "path": parts.path,
        "resource": parts.path,
        "headers": dict(headers),
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {
            "path": parts.path,
            "stage": "local",
            "httpMethod": method,
            "requestId": "local",
            "authorizer": {"owner": owner} if owner else None,
        },
        "body": base64.b64encode(body).decode() if body else None,
        "isBase64Encoded": bool(body),
    }


def _split(target: str) -> SplitResult:
    try:
        return urlsplit(target)
    except ValueError as error:
        raise RequestError(400, "This is not a valid address.") from error


Store: TypeAlias = Callable[[str, str, bytes], None]


class ApiServer(ThreadingHTTPServer):
    """A thread for each connection: one that waits for events holds up nobody else. `store` takes an
    owner's file, by its id, where a deployment has a bucket for that."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        handle: Handler,
        tokens: Callable[[], str],
        store: Store | None = None,
    ) -> None:
        self.handle = handle
        self.tokens = tokens
        self.store = store
        try:
            super().__init__(address, _Connection)
        except OSError as error:
            ports = error.errno in {errno.EADDRINUSE, errno.EACCES}
            raise ConfigurationError(
                f"Cannot listen on {address[0]}:{address[1]}: {error.strerror or error}.",
                hint="Choose another port with --port."
                if ports
                else "Name an address of this machine with --host.",
            ) from error

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"


class _Connection(BaseHTTPRequestHandler):
    server: ApiServer
    protocol_version = default_request_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

    def version_string(self) -> str:
        return "idea-explorer"

    def log_message(self, *_: object) -> None:
        """The handler logs each request itself."""

    def _serve(self) -> None:
        try:
            headers = dict(self.headers.items())
            body, owner = self._body(), self._owner(headers)
            event = gateway_event(self.command, self.path, headers, body, owner)
        except RequestError as error:
            self._refuse(error)
            return
        answer = self.server.handle(event, LocalContext())
        many = answer.get("multiValueHeaders") or {}
        self._answer(
            answer["statusCode"],
            {**answer.get("headers", {}), **{name: ", ".join(v) for name, v in many.items()}},
            _bytes_of(answer),
        )

    def do_PUT(self) -> None:
        """A file that was announced."""
        try:
            self._store()
        except (RequestError, ExplorerError) as error:
            self._refuse(request_error(error))
        else:
            self._answer(204, SECURITY_HEADERS, b"")

    def _store(self) -> None:
        owner = self._owner(dict(self.headers.items()))
        folder, _, file_id = _split(self.path).path.rpartition("/")
        if owner is None:
            raise RequestError(401)
        if folder != "/files" or self.server.store is None:
            raise RequestError(404, "There is no such route.")
        self.server.store(owner, file_id, self._body(limits.MAX_UPLOAD_BYTES))

    do_GET = _serve  # noqa: N815  the names that the standard library calls
    do_POST = _serve  # noqa: N815

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses: methods we do not have, and what is not HTTP."""
        unknown = RequestError(404, "There is no such route.")
        self._refuse(unknown if code == 501 else RequestError(400, "This is not a valid request."))

    def _owner(self, headers: Mapping[str, str]) -> str | None:
        """Nobody, where the token is not known: then only open routes answer."""
        try:
            allowed = authorize({"methodArn": LOCAL_ARN, "headers": headers}, self.server.tokens)
        except UnauthorizedError:
            return None
        return str(allowed["context"]["owner"])

    def _body(self, most: int = MAX_DECISION_BYTES) -> bytes:
        if "Transfer-Encoding" in self.headers:
            raise RequestError(411, "Send a Content-Length.")
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()):
            raise RequestError(400, "Content-Length is not a number.")
        if len(length) > 9 or int(length) > most:
            raise too_large(most)
        return self.rfile.read(int(length))

    def _refuse(self, error: RequestError) -> None:
        """What was sent is not read, so the connection cannot go on."""
        self.close_connection = True
        headers = {**SECURITY_HEADERS, "Content-Type": "application/json", "Connection": "close"}
        self._answer(
            error.status, headers, error.answer.model_dump_json(exclude_none=True).encode()
        )

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


def _bytes_of(answer: Mapping[str, Any]) -> bytes:
    body = str(answer.get("body") or "")
    return base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
