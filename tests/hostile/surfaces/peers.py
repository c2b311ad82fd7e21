"""Services that answer with anything."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.research import GitHub
from idea_explorer.adapters.music.qdrant import QdrantTrackIndex
from idea_explorer.adapters.music.tidal import Tidal
from idea_explorer.adapters.music.tidal_sign_in import ClientCredentials, SignIn
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.paths import check_research_path
from tests.fakes.serving import Listening
from tests.hostile.surfaces.base import (
    Check,
    surface,
)


@surface("answers of services", "json", "unicode", "markdown", share=0.25)
def peers(folder: Path) -> Iterator[Check]:
    """GitHub, Tidal and Qdrant that answer with anything."""
    body = b""
    status = 200

    class Peer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    server.daemon_threads = True
    url = f"http://127.0.0.1:{server.server_address[1]}"
    github = GitHubClient("acme/ideas", lambda: "token", url)
    sign_in = SignIn(lambda: ClientCredentials("a", "b"), SystemClock(), url)
    tidal = Tidal(sign_in, SystemClock(), api_url=url)
    qdrant = QdrantTrackIndex(url, "tracks")
    calls: list[Callable[[], object]] = [
        github.about,
        lambda: GitHub(github, "main").list(),
        lambda: GitHub(github, "main").read(check_research_path("a.md")),
        lambda: tidal.search("bees", ["tracks", "albums"], 5),
        lambda: qdrant.search("bees", 5),
        lambda: qdrant.get(["USRC17607839"]),
    ]
    turns = iter(range(sys.maxsize))

    def check(text: str) -> None:
        nonlocal body, status
        turn = next(turns)
        body = text.encode("utf-8", "surrogatepass")
        status = (200, 200, 201, 404, 422, 500)[turn % 6]
        with contextlib.suppress(ExplorerError):
            calls[turn % len(calls)]()

    with Listening(server):
        yield check
