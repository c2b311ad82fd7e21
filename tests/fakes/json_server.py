"""A JSON service over loopback that remembers what it was asked and fails when it is told to."""

import json
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.serving import Serving


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    target: str = ""  # path and query as they came over the wire

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


@dataclass(frozen=True)
class Fault:
    """What happens instead of an answer, to requests whose path begins so."""

    what: Literal["reply", "hang", "reset"]
    reply: Reply = field(default_factory=Reply)
    path: str = "/"


class JsonServer(Serving, ABC):
    """Serves from the moment it is entered. `faults` are used up one by one; `broken` stays. `delays` are
    the seconds that an answer takes, by the beginning of the path."""

    _server: "_Server"

    def __init__(self, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.faults: deque[Fault] = deque()
        self.broken: Fault | None = None
        self.delays: dict[str, float] = {}
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", port), self)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @abstractmethod
    def handle(self, request: Request) -> Reply: ...

    def asked(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path.startswith(path)]

    def fail(
        self, *statuses: int, path: str = "/", headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer the next requests to this path with these statuses."""
        for status in statuses:
            reply = Reply(status, {"errors": [{"status": str(status)}]}, headers or {})
            self.faults.append(Fault("reply", reply, path))

    def fault_for(self, request: Request) -> Fault | None:
        if self.broken and request.path.startswith(self.broken.path):
            return self.broken
        if self.faults and request.path.startswith(self.faults[0].path):
            return self.faults.popleft()
        return None

    def delay_for(self, request: Request) -> float:
        return next(
            (seconds for path, seconds in self.delays.items() if request.path.startswith(path)),
            0.0,
        )

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        super().__exit__()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], service: JsonServer) -> None:
        self.service = service
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        service = self.server.service
        url = urlsplit(self.path)
        request = Request(
            method=self.command,
            path=unquote(url.path),
            query={name: values[0] for name, values in parse_qs(url.query).items()},
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(int(self.headers.get("Content-Length") or 0)),
            target=self.path,
        )
        service.requests.append(request)
        service.stopping.wait(service.delay_for(request))
        match service.fault_for(request):
            case Fault(what="hang"):
                service.stopping.wait(30)
                self.close_connection = True
            case Fault(what="reset"):
                self._reset()
            case Fault(reply=reply):
                self._send(reply)
            case None:
                self._send(service.handle(request))

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)  # closing with it set sends RST instead of FIN
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def _send(self, reply: Reply) -> None:
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet: what was asked stands in `requests`."""
