"""A web server on loopback that says exactly the bytes it is told to, however hostile they are.

with WebServer({"/": page("<h1>Hello</h1>")}) as server:
    pages.fetch(server.url + "/")
"""

import gzip
import socketserver
import ssl
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

from tests.fakes.serving import Serving

Reply: TypeAlias = Callable[[], Iterable[bytes]]


@dataclass(frozen=True)
class Received:
    """A request as it came; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class WebServer(Serving):
    """Each path has its bytes. `requests` holds what was asked, `address` may be any of 127.0.0.0/8."""

    _server: "_Server"

    def __init__(
        self,
        replies: Mapping[str, Reply],
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.replies = dict(replies)
        self.requests: list[Received] = []
        self._server = _Server((address, port), self, tls)
        self.port: int = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://{address}:{self.port}"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(
        self, address: tuple[str, int], web: WebServer, tls: ssl.SSLContext | None
    ) -> None:
        super().__init__(address, _Handler)
        self.web = web
        self.tls = tls

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up on a hostile answer is what the tests want to see."""


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        connection = self.request
        if self.server.tls:
            connection = self.server.tls.wrap_socket(connection, server_side=True)
        with connection, connection.makefile("rb") as stream:
            received = _received(stream)
            self.server.web.requests.append(received)
            reply = self.server.web.replies.get(received.path, not_found)
            if reply is reset:
                # with nothing left to linger for, closing sends a reset
                connection.setsockopt(*_LINGER)
                return
            for piece in reply():
                connection.sendall(piece)


_LINGER = (1, 13, struct.pack("ii", 1, 0))  # SOL_SOCKET, SO_LINGER


def _received(stream: BinaryIO) -> Received:
    method, path, _ = stream.readline().decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    for line in stream:
        name, colon, value = line.decode("latin-1").strip().partition(":")
        if not colon:
            break
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return Received(method, path, headers, body)


def page(
    body: bytes | str = b"",
    content_type: str | None = "text/html; charset=utf-8",
    *,
    status: str = "200 OK",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    data = body.encode() if isinstance(body, str) else body
    return raw(status, content_type, headers, [data], length=len(data))


def raw(
    status: str,
    content_type: str | None,
    headers: Mapping[str, str] | None,
    body: Iterable[bytes],
    *,
    length: int | None = None,
) -> Reply:
    """Any body, whole or without an end."""
    fields = dict(headers or {})
    if content_type is not None:
        fields["Content-Type"] = content_type
    if length is not None:
        fields["Content-Length"] = str(length)
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())

    def pieces() -> Iterator[bytes]:
        yield f"HTTP/1.1 {status}\r\n{head}Connection: close\r\n\r\n".encode("latin-1")
        yield from body

    return pieces


def redirect(location: str, status: str = "302 Found") -> Reply:
    return page(b"", status=status, headers={"Location": location})


def not_found() -> Iterable[bytes]:
    return page("not here", "text/plain", status="404 Not Found")()


def reset() -> Iterable[bytes]:
    """Breaks the connection without a word."""
    return ()


def silence() -> Iterator[bytes]:
    """Accepts, and never says anything."""
    threading.Event().wait(30)
    yield b""


def forever(piece: bytes, *, every: float = 0.0) -> Iterator[bytes]:
    """The same bytes without end, `every` so many seconds."""
    pause = threading.Event()
    while True:
        yield piece
        if every:
            pause.wait(every)


def gzip_bomb(megabytes: int = 200) -> bytes:
    return _bomb(megabytes, 16 + zlib.MAX_WBITS)


def deflate_bomb(megabytes: int = 200, *, header: bool = True) -> bytes:
    return _bomb(megabytes, zlib.MAX_WBITS if header else -zlib.MAX_WBITS)


def empty_members(count: int) -> bytes:
    """Much gzip that decodes to nothing."""
    return gzip.compress(b"") * count


# 200 MB of the same letter
BROTLI_BOMB = bytes.fromhex(
    "cfffff7ff825c2e2b14020f7fe9ffffffff04b00c4610180eefd3fffffffe1970088c32200ddfb7ffeffffc32f011087"
    "0500baf7fffcffff875f02200e0b0074effff9ffff0fbf04401c1600e8defff3ffff1f7e0980382c00d0bdffe7ffff3f"
    "fc1200715800a07bffcfffff7ff82500e2b00040f7fe9ffffffff04b00c4610180eefd3fffffffe1970088c30200ddfb"
    "7ffeffffc32f0110870500baf7fff9ffff875f02200e0b0074efff00"
)


def _bomb(megabytes: int, window: int) -> bytes:
    """Zeros without an end: each megabyte packs into the same kilobyte, so it is packed only once."""
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    zeros = bytes(1024 * 1024)
    begin, more = (packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return begin + more * (megabytes - 1)
