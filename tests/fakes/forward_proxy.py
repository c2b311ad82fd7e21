"""A small forward proxy on loopback: plain requests by their whole address, everything else by CONNECT."""

import socket
import threading
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.fakes.serving import Serving


class ForwardProxy(Serving):
    """`asked` has what came, as method and address. With `refuses` it lets nobody through."""

    _server: "_Server"

    def __init__(self, *, refuses: bool = False) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.refuses = refuses
        self.asked = self._server.asked
        self.url = f"http://127.0.0.1:{self._server.server_port}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    refuses = False

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_CONNECT(self) -> None:
        self.server.asked.append(f"CONNECT {self.path}")
        if self.server.refuses:
            self.send_error(403)
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as upstream:
            self.send_response(200, "Connection established")
            self.end_headers()
            back = threading.Thread(target=_pump, args=(upstream, self.connection), daemon=True)
            back.start()
            _pump(self.connection, upstream)
            back.join(5)
        self.close_connection = True

    def _forward(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        if self.server.refuses:
            self.send_error(403)
            return
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        upstream = HTTPConnection(parts.netloc, timeout=10)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        upstream.request(self.command, target, body or None, dict(self.headers.items()))
        reply = upstream.getresponse()
        data = reply.read()
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in {"transfer-encoding", "content-length", "connection"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        upstream.close()

    do_GET = do_POST = do_PATCH = _forward  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: `ForwardProxy.asked` has it all."""


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
