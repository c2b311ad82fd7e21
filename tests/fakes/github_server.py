"""A GitHub to test against: its REST API over loopback, on real git repositories.

In a test: `with FakeGitHub(tmp_path, token="t") as github: github.create_repository(...)`.
As a program: `python -m tests.fakes.github_server --root DIR --repository acme/ideas=FOLDER`.
"""

import argparse
import hashlib
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal, TypeAlias

from tests.fakes.github_access import Access, Level
from tests.fakes.github_call import Call
from tests.fakes.github_faults import Fault, Faults
from tests.fakes.github_git import GitStore
from tests.fakes.github_history import download_archive
from tests.fakes.github_limits import Limits
from tests.fakes.github_repository import Files, Repository, folder_files
from tests.fakes.github_routes import find_route, run
from tests.fakes.github_wire import ApiError, ReceivedRequest, Reply, json_reply, not_found
from tests.fakes.serving import Serving

Observer: TypeAlias = Callable[[Literal["before", "after"], ReceivedRequest], None]
_REPOSITORY = re.compile(r"/repos/([^/]+/[^/]+)/?(.*)", re.DOTALL)
_ARCHIVE = re.compile(r"/codeload/([^/]+/[^/]+)/legacy\.tar\.gz/(.+)")


class FakeGitHub(Serving):
    """Serves from the moment it is entered. Faults, limits and observers may change meanwhile."""

    _server: "_Server"

    def __init__(
        self,
        root: Path,
        *,
        token: str | None = None,
        port: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root = root
        self.access = Access(token)
        self.faults = Faults()
        self.limits = Limits(clock)
        self.requests: list[ReceivedRequest] = []
        self.on_request: Observer | None = None
        self.tree_limit = 100_000
        self._clock = clock
        self._repositories: dict[str, Repository] = {}
        self._server = _Server(("127.0.0.1", port), self)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def create_repository(
        self,
        name: str,
        files: Files | Path | None = None,
        *,
        branch: str = "main",
        private: bool = True,
    ) -> Repository:
        """A repository with one commit of these files, or of this folder's; None leaves it empty.

        One that stands in the root already, from an earlier server, is opened as it is.
        """
        folder = self.root / f"{name}.git"
        fresh = not folder.exists()
        git = GitStore.create(folder, branch) if fresh else GitStore(folder)
        repo = Repository(name, git, branch=branch, private=private, clock=self._clock)
        if fresh and files is not None:
            given = folder_files(files) if isinstance(files, Path) else files
            repo.commit(given, "Initial commit")
        self._repositories[name.lower()] = repo
        return repo

    def grant(self, token: str, repository: str, level: Level) -> None:
        """Make a token known and say what it may do in one repository."""
        self.access.grant(token, repository, level)

    def answer(self, request: ReceivedRequest) -> Reply | None:
        """Everything between a request and its reply, faults included; None: hang up."""
        self.requests.append(request)
        fault = self.faults.pick(request) or Fault()
        with self.limits.in_flight():
            self._tell("before", request)
            time.sleep(fault.delay)
            acted = self._act(request) if fault.acts else None
            reply = fault.reply or acted
            request.status = reply.status if reply else None
            self._tell("after", request)
        if reply is None or fault.delivery == "dropped":
            return None
        headers = {**self.limits.headers(), **reply.headers}
        cut = fault.delivery == "cut"
        return Reply(reply.status, reply.body, headers, reply.stream, cut)

    def close(self) -> None:
        super().close()
        for repo in self._repositories.values():
            repo.git.close()

    def _tell(self, moment: Literal["before", "after"], request: ReceivedRequest) -> None:
        if self.on_request:
            self.on_request(moment, request)

    def _act(self, request: ReceivedRequest) -> Reply:
        try:
            reply = self._archive(request) or self._route(request)
        except ApiError as error:
            return error.reply()
        return _unless_known(request, reply)

    def _archive(self, request: ReceivedRequest) -> Reply | None:
        found = _ARCHIVE.fullmatch(request.path)
        repo = self._repositories.get(found[1].lower()) if found else None
        if found is None or repo is None:
            return None
        return download_archive(self._call(request, {"ref": found[2]}, repo))

    def _route(self, request: ReceivedRequest) -> Reply:
        if "user-agent" not in request.headers:
            raise ApiError(403, "Request forbidden by administrative rules.")
        self.access.check_token(request)
        if request.path == "/rate_limit":
            return json_reply(self.limits.summary())
        self.limits.check(request)
        found = _REPOSITORY.fullmatch(request.path)
        repo = self._repositories.get(found[1].lower()) if found else None
        if found is None or repo is None:
            raise not_found()
        route = find_route(request.method, found[2])
        if route is None:
            raise not_found()
        self.access.check_repository(request, repo)
        return run(route[0], self._call(request, route[1], repo))

    def _call(self, request: ReceivedRequest, params: dict[str, str], repo: Repository) -> Call:
        may_push = self.access.level(request, repo) == "write"
        return Call(request, params, repo, self.url, may_push, self.tree_limit)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], github: FakeGitHub) -> None:
        super().__init__(address, _Handler)
        self.github = github
        self.connections: set[socket.socket] = set()

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
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = ReceivedRequest(self.command, self.path, headers, body)
        reply = self.server.github.answer(request)
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
        """Say nothing: `FakeGitHub.requests` has it all."""


def _unless_known(request: ReceivedRequest, reply: Reply) -> Reply:
    """304 for what the client has already, named by its ETag."""
    if request.writes or reply.status != 200 or reply.stream is not None:
        return reply
    tag = f'"{hashlib.sha256(reply.body).hexdigest()}"'
    if request.headers.get("if-none-match") == tag:
        return Reply(304, headers={"ETag": tag})
    return Reply(reply.status, reply.body, {**reply.headers, "ETag": tag})


def _disconnect(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is closed already


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="where the repositories are kept")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", help="without one, everything is open")
    parser.add_argument("--quota", type=int, default=5000, help="requests an hour")
    parser.add_argument(
        "--repository", action="append", default=[], metavar="OWNER/NAME=FOLDER", required=True
    )
    options = parser.parse_args()
    github = FakeGitHub(options.root, token=options.token, port=options.port)
    github.limits.limit = github.limits.remaining = options.quota
    for given in options.repository:
        name, _, folder = given.partition("=")
        github.create_repository(name, Path(folder) if folder else None)
    print(f"listening on {github.url}", flush=True)
    try:
        github.serve()
    except KeyboardInterrupt:
        github.close()


if __name__ == "__main__":
    main()
