"""The API on this machine: turns HTTP requests into API Gateway events for the same handler."""

import base64
import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import SplitResult, parse_qs, urlsplit

from idea_explorer.api.app import Handler
from idea_explorer.api.authorizer import UnauthorizedError, authorize
from idea_explorer.api.http import MAX_DECISION_BYTES, SECURITY_HEADERS, RequestError
from idea_explorer.domain import limits
from idea_explorer.domain.errors import ConfigurationError, ExplorerError

CALL_SECONDS = 29.0  # API Gateway's limit
IDLE_SECONDS = 65.0
LOCAL_ARN = "arn:aws:execute-api:local:000000000000:local/local/*/*"


@dataclass(frozen=True)
class LocalContext:
    function_name: str = "api"

    def get_remaining_time_in_millis(self) -> int:
        return int(CALL_SECONDS * 1_000)


def build_gateway_event(
    method: str, target: str, headers: Mapping[str, str], body: bytes, owner: str | None
) -> dict[str, Any]:
    """The event that API Gateway's Lambda proxy integration sends for a request."""
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
        raise RequestError(400, "The address is not valid.") from error


StoreFile: TypeAlias = Callable[[str, str, bytes], None]


class ApiServer(ThreadingHTTPServer):
    """Uses a thread per connection, so a call that waits for events does not block others. `store` saves
    an uploaded file by owner and id; a deployment uses a bucket for that."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        handle: Handler,
        tokens: Callable[[], str],
        store: StoreFile | None = None,
    ) -> None:
        self.handle = handle
        self.tokens = tokens
        self.store = store
        try:
            super().__init__(address, _RequestHandler)
        except OSError as error:
            port_is_taken = error.errno in {errno.EADDRINUSE, errno.EACCES}
            raise ConfigurationError(
                f"Cannot listen on {address[0]}:{address[1]}: {error.strerror or error}.",
                hint="Choose another port with --port."
                if port_is_taken
                else "Choose an address of this machine with --host.",
            ) from error

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"


class _RequestHandler(BaseHTTPRequestHandler):
    server: ApiServer
    protocol_version = default_request_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

    def version_string(self) -> str:
        return "idea-explorer"

    def log_message(self, *_: object) -> None:
        """Silent, because the handler logs each request."""

    def _serve(self) -> None:
        try:
            headers = dict(self.headers.items())
            body, owner = self._read_body(), self._find_owner(headers)
            event = build_gateway_event(self.command, self.path, headers, body, owner)
        except RequestError as error:
            self._refuse(error)
            return
        response = self.server.handle(event, LocalContext())
        many = response.get("multiValueHeaders") or {}
        self._respond(
            response["statusCode"],
            {**response.get("headers", {}), **{name: ", ".join(v) for name, v in many.items()}},
            _decode_body(response),
        )

    def do_PUT(self) -> None:
        """Receive an uploaded file."""
        try:
            self._store_file()
        except (RequestError, ExplorerError) as error:
            self._refuse(RequestError.of(error))
        else:
            self._respond(204, SECURITY_HEADERS, b"")

    def _store_file(self) -> None:
        owner = self._find_owner(dict(self.headers.items()))
        folder, _, file_id = _split(self.path).path.rpartition("/")
        if owner is None:
            raise RequestError(401)
        if folder != "/files" or self.server.store is None:
            raise RequestError(404, "No such route.")
        self.server.store(owner, file_id, self._read_body(limits.MAX_UPLOAD_BYTES))

    do_GET = _serve  # noqa: N815  the standard library calls these names
    do_POST = _serve  # noqa: N815

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Called by the standard library for an unsupported method or malformed HTTP."""
        unknown = RequestError(404, "No such route.")
        self._refuse(
            unknown if code == 501 else RequestError(400, "The request is not valid HTTP.")
        )

    def _find_owner(self, headers: Mapping[str, str]) -> str | None:
        """None without a valid token; then only public routes respond."""
        try:
            allowed = authorize({"methodArn": LOCAL_ARN, "headers": headers}, self.server.tokens)
        except UnauthorizedError:
            return None
        return str(allowed["context"]["owner"])

    def _read_body(self, max_bytes: int = MAX_DECISION_BYTES) -> bytes:
        if "Transfer-Encoding" in self.headers:
            raise RequestError(411, "The request needs a Content-Length.")
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()):
            raise RequestError(400, "Content-Length is not a number.")
        if len(length) > 9 or int(length) > max_bytes:
            raise RequestError.too_large(max_bytes)
        return self.rfile.read(int(length))

    def _refuse(self, error: RequestError) -> None:
        """Closes the connection, because the body has not been read."""
        self.close_connection = True
        headers = {**SECURITY_HEADERS, "Content-Type": "application/json", "Connection": "close"}
        body = error.to_response().model_dump_json(exclude_none=True).encode()
        self._respond(error.status, headers, body)

    def _respond(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
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


def _decode_body(response: Mapping[str, Any]) -> bytes:
    body = str(response.get("body") or "")
    return base64.b64decode(body) if response.get("isBase64Encoded") else body.encode()
