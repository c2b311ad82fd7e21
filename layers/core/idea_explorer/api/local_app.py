"""Answers the requests to the API on this machine, as an ASGI application: checks what a request says about
itself before its body is read, and hands it to the API's handler as an API Gateway event."""

import asyncio
import base64
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from idea_explorer.api.authorizer import UnauthorizedError, authorize
from idea_explorer.api.connections import ConnectionLimits, Headers, encode_headers, render_error
from idea_explorer.api.gateway import LOCAL_ARN, LocalContext, build_gateway_event, split_target
from idea_explorer.api.http import JSON, MAX_DECISION_BYTES, SECURITY_HEADERS, RequestError
from idea_explorer.api.negotiation import accepts_gzip
from idea_explorer.domain import limits
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.threads import run_in_thread

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, HTTPScope

    from idea_explorer.api.app import Handler
    from idea_explorer.api.hosts import HostRules

T = TypeVar("T")
StoreFile: TypeAlias = Callable[[str, str, bytes], None]
RedeemCode: TypeAlias = Callable[[str], str | None]
# The console's files, which are the same for everybody. API Gateway itself compresses all responses but
# streams and small ones.
COMPRESSED_TYPES = ("text/css", "text/javascript")


@dataclass(frozen=True)
class Response:
    """A body that is an iterator is sent part by part, each when it is there."""

    status: int
    headers: Headers
    body: bytes | Iterator[str]


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, scope: "HTTPScope") -> "Request":
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        return cls(
            method=scope["method"],
            target=target.decode("ascii"),
            headers={
                name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
            },
        )

    @property
    def length(self) -> int:
        return int(self.headers.get("content-length", "0"))


@dataclass(frozen=True)
class LocalApp:
    """`store` saves an uploaded file by owner and id; a deployment uses a bucket for that. `sign_in` gives
    the token for the code of a sign-in link."""

    handle: "Handler"
    tokens: Callable[[], str]
    store: StoreFile | None
    hosts: "HostRules"
    limits: ConnectionLimits
    sign_in: RedeemCode | None = None

    async def __call__(
        self, scope: "HTTPScope", receive: "ASGIReceiveCallable", send: "ASGISendCallable"
    ) -> None:
        with suppress(asyncio.CancelledError):  # the server ends, and nobody waits for a response
            try:
                response, is_read = await self._respond(Request.of(scope), receive)
            except RequestError as error:
                response, is_read = Response(error.status, *render_error(error)), False
            except _DisconnectedError:
                return
            if isinstance(response.body, bytes):
                await self._send(response, response.body, send, None if is_read else receive)
            else:
                await _send_parts(response, response.body, send, receive)

    async def _respond(
        self, request: Request, receive: "ASGIReceiveCallable"
    ) -> tuple[Response, bool]:
        """The response, and whether the request's body was read. Raises RequestError."""
        self._check(request)
        if request.method == "POST" and split_target(request.target).path == "/sign-in":
            return self._redeem_code(request), request.length == 0
        owner = self._find_owner(request)
        if request.method == "PUT":
            return await self._receive_file(request, owner, receive), True
        # without a token no route needs the body: it says 401, or is public
        body = await self._read_body(request, receive) if owner else b""
        event = build_gateway_event(request.method, request.target, request.headers, body, owner)
        answer = await _call_in_thread(partial(self.handle, event, LocalContext(streams=True)))
        is_read = owner is not None or request.length == 0
        gzips = accepts_gzip(request.headers.get("accept-encoding", ""))
        return _convert(answer, closes=not is_read, gzips=gzips), is_read

    def _check(self, request: Request) -> None:
        headers = request.headers
        self.hosts.check(request.method, headers.get("host", ""), headers.get("origin"))
        if "transfer-encoding" in headers:
            if "content-length" in headers:
                raise RequestError(400, "The request has two lengths.")
            raise RequestError(411, "The request needs a Content-Length.")
        max_bytes = limits.MAX_UPLOAD_BYTES if request.method == "PUT" else MAX_DECISION_BYTES
        if request.length > max_bytes:
            raise RequestError.too_large(max_bytes)

    def _find_owner(self, request: Request) -> str | None:
        """None without a valid token; then only public routes respond."""
        try:
            allowed = authorize({"methodArn": LOCAL_ARN, "headers": request.headers}, self.tokens)
        except UnauthorizedError:
            return None
        return str(allowed["context"]["owner"])

    def _redeem_code(self, request: Request) -> Response:
        token = self.sign_in and self.sign_in(request.headers.get("authorization", ""))
        if token is None:
            raise RequestError(
                403, "This sign-in link was used already, or belongs to another server."
            )
        body = json.dumps({"token": token}).encode()
        headers = {**SECURITY_HEADERS, "Content-Type": JSON, "Content-Length": str(len(body))}
        return Response(200, encode_headers(headers), body)

    async def _receive_file(
        self, request: Request, owner: str | None, receive: "ASGIReceiveCallable"
    ) -> Response:
        folder, _, file_id = split_target(request.target).path.rpartition("/")
        if owner is None:
            raise RequestError(401)
        if folder != "/files" or self.store is None:
            raise RequestError(404, "No such route.")
        content = await self._read_body(request, receive)
        try:
            await _call_in_thread(partial(self.store, owner, file_id, content))
        except ExplorerError as error:
            raise RequestError.of(error) from error
        return Response(204, encode_headers({**SECURITY_HEADERS}), b"")

    async def _read_body(self, request: Request, receive: "ASGIReceiveCallable") -> bytes:
        seconds = self.limits.body_seconds + request.length / self.limits.body_bytes_per_second
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(seconds):
                more = request.length > 0
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _DisconnectedError
                    parts.append(message["body"])
                    more = message["more_body"]
        except TimeoutError:
            raise RequestError(408, "The request took too long to arrive.") from None
        return b"".join(parts)

    async def _send(
        self,
        response: Response,
        body: bytes,
        send: "ASGISendCallable",
        unread: "ASGIReceiveCallable | None",
    ) -> None:
        """`unread`: what the peer goes on sending is discarded for a moment, because closing at once would
        reset the connection and may take the response with it."""
        await _send_head(response, send)
        await _send_body(body, send, more=unread is not None)
        if unread is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.limits.discard_seconds):
                    while (message := await unread())["type"] == "http.request":
                        if not message["more_body"]:
                            break
            await _send_body(b"", send, more=False)


async def _send_head(response: Response, send: "ASGISendCallable") -> None:
    await send(
        {
            "type": "http.response.start",
            "status": response.status,
            "headers": response.headers,
            "trailers": False,
        }
    )


async def _send_body(body: bytes, send: "ASGISendCallable", *, more: bool) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def _send_parts(
    response: Response,
    parts: Iterator[str],
    send: "ASGISendCallable",
    receive: "ASGIReceiveCallable",
) -> None:
    """Until the last part has been sent, or the peer has gone."""
    await _send_head(response, send)
    gone = asyncio.ensure_future(_wait_until_gone(receive))
    try:
        while True:
            part = asyncio.ensure_future(_call_in_thread(partial(next, parts, None)))
            await asyncio.wait({part, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                part.cancel()
                return
            text = part.result()
            await _send_body((text or "").encode(), send, more=text is not None)
            if text is None:
                return
    finally:
        gone.cancel()


async def _wait_until_gone(receive: "ASGIReceiveCallable") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _DisconnectedError(Exception):
    """The peer closed the connection before its request was complete."""


async def _call_in_thread(call: Callable[[], T]) -> T:
    """Calls that wait do not hold up others; starting a thread for each of them would. The threads are
    daemons, unlike those of asyncio's executor, so that the program can end while a call waits for events."""
    future: Future[T] = Future()

    def run() -> None:
        if future.set_running_or_notify_cancel():
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001  raised where the result is awaited
                future.set_exception(error)
            else:
                future.set_result(result)

    run_in_thread(run, name="request")
    return await asyncio.wrap_future(future)


def _convert(answer: Mapping[str, Any], *, closes: bool, gzips: bool) -> Response:
    """API Gateway's proxy response as HTTP. `gzips`: whether the client reads what is compressed."""
    many = answer.get("multiValueHeaders") or {}
    headers = {**answer.get("headers", {}), **{name: ", ".join(v) for name, v in many.items()}}
    status = int(answer["statusCode"])
    if closes:
        headers["Connection"] = "close"
    given = answer.get("body") or ""
    if isinstance(given, Iterator):
        return Response(status, encode_headers(headers), given)
    body = base64.b64decode(given) if answer.get("isBase64Encoded") else str(given).encode()
    if gzips and body and headers.get("Content-Type", "").startswith(COMPRESSED_TYPES):
        headers["Content-Encoding"] = "gzip"
        body = _compress(body)
    if status != 204:
        headers["Content-Length"] = str(len(body))
    return Response(status, encode_headers(headers), body)


@lru_cache(maxsize=64)  # more than the console has files
def _compress(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)
