"""A webhook receiver on loopback that checks what it gets as a real one does, and fails as told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.http.connections import WEBHOOK_RULES, is_public_or_loopback
from idea_explorer.adapters.http.public import PublicHttp
from tests.fakes.serving import Serving


@dataclass(frozen=True)
class Received:
    headers: Mapping[str, str]
    body: bytes
    taken: bool

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Receiver(Serving):
    """Takes each message, unless `fails` says otherwise; either way it remembers it. `status` is what it
    answers where it fails."""

    _server: ThreadingHTTPServer

    def __init__(self, fails: Callable[[], bool] = lambda: False, status: int = 500) -> None:
        self.received: list[Received] = []
        self._server = _server(self, fails, status)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    @property
    def taken(self) -> list[Received]:
        return [message for message in self.received if message.taken]


def _server(receiver: Receiver, fails: Callable[[], bool], status: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            taken = not fails()
            receiver.received.append(Received(headers, body, taken))
            self.send_response(204 if taken else status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: `received` has it all."""

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


class LoopbackPosts:
    """Posts to a receiver on this machine, as they are posted to public ones."""

    def __init__(self, receiver: Receiver) -> None:
        rules = replace(WEBHOOK_RULES, schemes=frozenset({"http"}), allow=is_public_or_loopback)
        self._http = PublicHttp(SystemClock(), post_rules=rules)
        self._receiver = receiver
        self.timeouts: list[float] = []

    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        self.timeouts.append(timeout)
        return self._http.post(self._receiver.url, body, headers, timeout)
