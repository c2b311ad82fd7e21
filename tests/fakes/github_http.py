"""HTTP as GitHub speaks it: requests in, replies out, whole, in chunks, cut off or not at all."""

import socket
import sys
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

from tests.fakes.github_wire import ReceivedRequest, Reply

Answer: TypeAlias = Callable[[ReceivedRequest], Reply | None]  # None: hang up


class HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self, address: tuple[str, int], answer: Answer, clock: Callable[[], float]
    ) -> None:
        super().__init__(address, _Handler)
        self.answer = answer
        self.clock = clock
        self.connections: set[socket.socket] = set()
        self.connection_count = 0

    def handle_error(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        """A client that went away is no news; anything else is a defect and is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self.connections):
            _disconnect(connection)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "GitHub.com"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave together
    server: HttpServer

    def date_time_string(self, timestamp: float | None = None) -> str:
        return formatdate(self.server.clock() if timestamp is None else timestamp, usegmt=True)

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)
        self.server.connection_count += 1

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = ReceivedRequest(self.command, self.path, headers, body)
        reply = self.server.answer(request)
        if reply is None:
            self._hang_up()
            return
        self.send_response(reply.status)
        for key, value in reply.headers.items():
            self.send_header(key, value)
        self.send_header("X-GitHub-Request-Id", "C0DE:1:2:3:4")
        if reply.stream is not None:
            self._send_chunks(reply.stream, cut=reply.cut)
            return
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
        self.wfile.flush()
        if reply.cut:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        _disconnect(self.connection)

    def _send_chunks(self, stream: Iterator[bytes], *, cut: bool) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in stream:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            if cut:
                break
        self.wfile.write(b"" if cut else b"0\r\n\r\n")
        self.wfile.flush()
        if cut:
            self._hang_up()

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: whoever answers keeps the requests."""


def _disconnect(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is closed already
