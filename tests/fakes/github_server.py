"""A GitHub to test against: its REST API over loopback, on real git repositories.

In a test: `with FakeGitHub(tmp_path, token="t") as github: github.create_repository(...)`.
As a program: `python -m tests.fakes.github_server --root DIR --repository acme/ideas=FOLDER`.
"""

import argparse
import hashlib
import re
import ssl
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote

from tests.fakes import github_contract as contract
from tests.fakes.github_access import Access, Level
from tests.fakes.github_call import Call
from tests.fakes.github_checks import download_log
from tests.fakes.github_faults import Fault, Faults
from tests.fakes.github_git import GitStore
from tests.fakes.github_history import download_archive
from tests.fakes.github_http import HttpServer
from tests.fakes.github_limits import Limits
from tests.fakes.github_repository import Files, Repository, folder_files
from tests.fakes.github_routes import run
from tests.fakes.github_wire import (
    ApiError,
    ReceivedRequest,
    Reply,
    json_reply,
    moved,
    not_found,
)
from tests.fakes.serving import Serving

Observer: TypeAlias = Callable[[Literal["before", "after"], ReceivedRequest], None]
_BY_ID = re.compile(r"/repositories/(\d+)(/.*)?", re.DOTALL)
_ARCHIVE = re.compile(r"/codeload/([^/]+/[^/]+)/legacy\.tar\.gz/(.+)")
_LOG = re.compile(r"/logs/([^/]+/[^/]+)/(\d+)")


class FakeGitHub(Serving):
    """Serves from the moment it is entered. Faults, limits and observers may change meanwhile.

    A request that GitHub's own description does not know is refused, and the `with` ends in an error
    that names it, unless `take_violations` was asked for it.
    """

    _server: HttpServer

    def __init__(
        self,
        root: Path,
        *,
        token: str | None = None,
        port: int = 0,
        clock: Callable[[], float] = time.time,
        tls: ssl.SSLContext | None = None,
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
        self._former_names: dict[str, Repository] = {}
        self._violations: list[str] = []
        self._server = HttpServer(("127.0.0.1", port), self.answer, clock)
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

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
        number = 1_000 + len(self._repositories)
        repo = Repository(
            name, git, branch=branch, private=private, clock=self._clock, number=number
        )
        if fresh and files is not None:
            given = folder_files(files) if isinstance(files, Path) else files
            repo.commit(given, "Initial commit")
        self._repositories[name.lower()] = repo
        return repo

    def rename_repository(self, name: str, new_name: str) -> Repository:
        """From now on the old name only points to the repository: by its number, as GitHub does."""
        repo = self._repositories.pop(name.lower())
        repo.full_name = new_name
        repo.owner, repo.name = new_name.split("/")
        self._repositories[new_name.lower()] = repo
        self._former_names[name.lower()] = repo
        return repo

    def take_violations(self) -> list[str]:
        """The requests so far that GitHub's description does not know, each with what is wrong."""
        taken, self._violations = self._violations, []
        return taken

    def grant(self, token: str, repository: str, level: Level) -> None:
        """Make a token known and say what it may do in one repository."""
        self.access.grant(token, repository, level)

    @property
    def connection_count(self) -> int:
        """How many connections were made so far."""
        return self._server.connection_count

    def answer(self, request: ReceivedRequest) -> Reply | None:
        """Everything between a request and its reply, faults included; None: hang up."""
        self.requests.append(request)
        self._check(request)
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

    def __exit__(self, *failure: object) -> None:
        super().__exit__(*failure)
        if failure[0] is None:
            violations = self.take_violations()
            assert not violations, f"GitHub does not know these requests: {violations}"

    def _check(self, request: ReceivedRequest) -> None:
        is_download = _ARCHIVE.fullmatch(request.path) or _LOG.fullmatch(request.path)
        if is_download or request.path == "/rate_limit":
            return
        found = contract.match(request.method, self._current_path(request))
        if refused := contract.refusal(request, found):
            self._violations.append(f"{request.method} {request.target}: {refused.message}")

    def _tell(self, moment: Literal["before", "after"], request: ReceivedRequest) -> None:
        if self.on_request:
            self.on_request(moment, request)

    def _act(self, request: ReceivedRequest) -> Reply:
        try:
            reply = self._download(request) or self._route(request)
        except ApiError as error:
            return error.reply()
        return _unless_known(request, reply)

    def _download(self, request: ReceivedRequest) -> Reply | None:
        """Archives and logs are on other hosts, where the token does not count."""
        archive, log = _ARCHIVE.fullmatch(request.path), _LOG.fullmatch(request.path)
        found = archive or log
        repo = self._repositories.get(found[1].lower()) if found else None
        if found is None or repo is None:
            return None
        if log:
            return download_log(self._call(request, {"job_id": log[2]}, repo))
        return download_archive(self._call(request, {"ref": found[2]}, repo))

    def _route(self, request: ReceivedRequest) -> Reply:
        if "user-agent" not in request.headers:
            raise ApiError(403, "Request forbidden by administrative rules.")
        self.access.check_token(request)
        if request.path == "/rate_limit":
            return json_reply(self.limits.summary())
        self.limits.check(request)
        self._redirect(request)
        found = contract.match(request.method, self._current_path(request))
        name = "{owner}/{repo}".format(**found.params) if found else ""
        repo = self._repositories.get(name.lower())
        if repo:
            self.access.check_repository(request, repo)
        refused = contract.refusal(request, found)
        if refused:
            raise refused
        if found is None or repo is None:
            raise not_found()
        operation = found.operation
        return run(operation.name, operation.docs, self._call(request, dict(found.params), repo))

    def _redirect(self, request: ReceivedRequest) -> None:
        """301 for a read and 307 for a write under a name that a repository no longer has."""
        path, query = request.target.partition("?")[::2]
        found = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", path, re.DOTALL)
        former = self._former_names.get(unquote(found[1]).lower()) if found else None
        if found is None or former is None:
            return
        self.access.check_repository(request, former)
        where = f"{self.url}/repositories/{former.number}{found[2] or ''}"
        raise moved(f"{where}?{query}" if query else where, writes=request.writes)

    def _current_path(self, request: ReceivedRequest) -> str:
        """The path with the repository's name also where it is asked for by its number."""
        path = request.target.partition("?")[0]
        found = _BY_ID.fullmatch(path)
        numbered = {repo.number: repo for repo in self._repositories.values()}
        repo = numbered.get(int(found[1])) if found else None
        return f"/repos/{repo.full_name}{found[2] or ''}" if found and repo else path

    def _call(self, request: ReceivedRequest, params: dict[str, str], repo: Repository) -> Call:
        level = self.access.level(request, repo)
        return Call(request, params, repo, self.url, level, self.tree_limit)


def _unless_known(request: ReceivedRequest, reply: Reply) -> Reply:
    """304 for what the client has already, named by its ETag."""
    if request.writes or reply.status != 200 or reply.stream is not None:
        return reply
    tag = f'"{hashlib.sha256(reply.body).hexdigest()}"'
    if request.headers.get("if-none-match") == tag:
        return Reply(304, headers={"ETag": tag})
    return Reply(reply.status, reply.body, {**reply.headers, "ETag": tag})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="where the repositories are kept")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", help="without one, everything is open")
    parser.add_argument("--quota", type=int, default=5000, help="requests an hour")
    parser.add_argument(
        "--repository", action="append", default=[], metavar="OWNER/NAME=FOLDER", required=True
    )
    options = parser.parse_args(arguments)
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
