"""Publishing to GitHub: one commit per exploration and run, however often it is tried.

The commit carries trailers that name exploration and run. Each attempt looks for them in the history
of the very head that it then builds on, and GitHub moves the branch only if that head still is its
head. So whatever is lost on the way, the next attempt either finds the commit or builds it anew.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from urllib.parse import quote

from idea_explorer.adapters.github.branches import GitHubBranches, MovedError
from idea_explorer.adapters.github.client import GitHubClient, safe_to_repeat
from idea_explorer.adapters.github.history import history
from idea_explorer.adapters.github.responses import Commit, Named, read
from idea_explorer.adapters.github.tree import GitHubTree
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    DocumentError,
    DocumentMissingError,
    ExternalError,
    RateLimitedError,
    RejectedError,
    UnavailableError,
    UpstreamConflictError,
)
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.publication import is_document
from idea_explorer.domain.retry import RetryPolicy, retry
from idea_explorer.ports import BranchLease, Change, Clock, Published, Tree

ATTEMPTS = 10  # heads that may move away under one publication before the workflow tries again
RETRY = RetryPolicy(
    first=0.3,
    factor=1.0,
    attempts=ATTEMPTS,
    jitter=0.8,
    retry_on=lambda error: isinstance(error, MovedError),
)
LEASE_SECONDS = 30.0  # longer than a publication takes; a crashed one holds up others that long
WAIT_SECONDS = 45.0  # a crashed publisher's lease ends within it
LIMIT_SECONDS = 60.0  # what GitHub asks for when a limit comes without a time


class GitHubPublisher:
    def __init__(
        self,
        client: GitHubClient,
        branch: str | None,
        lease: BranchLease,
        clock: Clock,
        *,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._lease_seconds = lease_seconds
        self._client = client
        self._branches = GitHubBranches(client)
        self._named_branch = branch
        self._lease = lease
        self._clock = clock

    def check(self) -> None:
        try:
            about = self._client.about()
            self._named_branch = self._named_branch or about.default_branch
            self._tip(self._named_branch)
        except (AuthFailedError, DocumentMissingError) as error:
            raise ConfigurationError(error.message, hint=error.hint) from error
        if about.archived:
            raise ConfigurationError(
                f"{self._client.repository} is archived, so nothing can be published to it.",
                hint="Unarchive it, or name another repository.",
            )
        # an app's token may do what this denies; then it denies reading too
        may = about.permissions
        if may and may.pull and not may.push:
            raise ConfigurationError(
                f"The token may read {self._client.repository}, but not write to it.",
                hint="Give it write permission for contents.",
            )

    def publish(
        self,
        exploration_id: ExplorationId,
        run: int,
        build: Callable[[Tree], Change],
        *,
        since: datetime,
    ) -> Published:
        trailers = f"Exploration-Id: {exploration_id}\nExploration-Run: {run}"
        with safe_to_repeat():
            branch = self._branch()
            try:
                with self._turn(branch) as renew:
                    return retry(
                        lambda: self._attempt(branch, trailers, build, since, renew),
                        RETRY,
                        self._clock,
                    )
            except MovedError:
                raise UnavailableError(
                    f"The branch {branch} moved at each of {ATTEMPTS} attempts.", hint="Try again."
                ) from None

    def _attempt(
        self,
        branch: str,
        trailers: str,
        build: Callable[[Tree], Change],
        since: datetime,
        renew: Callable[[], None],
    ) -> Published:
        head, before = self._history(self._tip(branch), trailers, since)
        if before:
            return self._found(before, branch)
        change = build(GitHubTree(self._client, head.commit.tree.sha))
        renew()
        sha = self._commit(head, change, trailers)
        renew()
        self._move(branch, head.sha, sha)
        return Published(
            document=change.path,
            text=change.files[change.path],
            path=change.path,
            url=_page_of(head, branch, change.path),
            commit=sha,
            branch=branch,
            notice=change.notice,
        )

    def _commit(self, head: Commit, change: Change, trailers: str) -> str:
        """Both files in one commit, which nothing points to yet."""
        files = [
            {"path": path, "mode": "100644", "type": "blob", "content": text}
            for path, text in change.files.items()
        ]
        tree = read(
            Named,
            self._client.post("/git/trees", {"base_tree": head.commit.tree.sha, "tree": files}),
        )
        message = f"{change.message}\n\n{trailers}"
        body = {"message": message, "tree": tree.sha, "parents": [head.sha]}
        return read(Named, self._client.post("/git/commits", body)).sha

    def _branch(self) -> str:
        if self._named_branch is None:
            self._named_branch = self._default_branch()
        return self._named_branch

    def _default_branch(self) -> str:
        try:
            return self._branches.default()
        except DocumentMissingError as error:
            raise ConfigurationError(error.message, hint=error.hint) from error

    def _tip(self, branch: str) -> str:
        try:
            tip = self._branches.tip(branch)
        except UpstreamConflictError as error:
            raise ConfigurationError(
                f"The repository {self._client.repository} is empty.",
                hint="Add a first commit, for example a README, and publish again.",
            ) from error
        if tip is None:
            self._default_branch()  # a repository that is not there has no branch either
            raise ConfigurationError(
                f"{self._client.repository} has no branch '{branch}'.",
                hint="Create it, or set GITHUB_BRANCH to one that exists.",
            )
        return tip

    def _history(self, sha: str, trailers: str, since: datetime) -> tuple[Commit, Commit | None]:
        """The head itself, and the commit with these trailers in its history, if there is one."""
        commits = history(
            self._client,
            sha,
            since,
            unknown="whether it was published cannot be told",
            hint="Look for its id in the history; start it anew if it is not there.",
        )
        head = next(commits, None)
        if head is None or head.sha != sha:
            raise ExternalError("GitHub's answer could not be read.")
        own = (c for c in chain([head], commits) if _has_trailers(c.commit.message, trailers))
        return head, next(own, None)

    def _found(self, commit: Commit, branch: str) -> Published:
        """What an earlier attempt has written, read back from its commit."""
        files = read(Commit, self._client.get(f"/commits/{commit.sha}")).files
        document = next((file.filename for file in files if is_document(file.filename)), "")
        try:
            tree = GitHubTree(self._client, commit.commit.tree.sha)
            text = tree.read_text(document) if document else None
        except DocumentError:
            text = None
        return Published(
            document=document,
            text=text or "",
            path=document,
            url=_page_of(commit, branch, document),
            commit=commit.sha,
            branch=branch,
        )

    def _move(self, branch: str, parent: str, sha: str) -> None:
        try:
            self._branches.advance(branch, sha)
        except RejectedError as error:
            if self._tip(branch) != parent:
                raise MovedError from error
            raise ConfigurationError(
                f"The branch '{branch}' of {self._client.repository} does not accept the commit:"
                f" {error.message}",
                hint="Let this token push to it, or set GITHUB_BRANCH to a branch that is not"
                " protected.",
            ) from error
        except AuthFailedError as error:
            raise ConfigurationError(
                f"The token may not push to '{branch}' of {self._client.repository}:"
                f" {error.message}",
                hint="Give it write permission for contents, or set GITHUB_BRANCH to another branch.",
            ) from error

    @contextmanager
    def _turn(self, branch: str) -> Iterator[Callable[[], None]]:
        """One publisher at a time; after a limit none before GitHub's time is over."""
        name = f"{self._client.repository}#{branch}".lower()
        holder = secrets.token_hex(8)
        self._wait_for(name, holder)

        def renew() -> None:
            self._lease.renew(name, holder, seconds=self._lease_seconds)

        try:
            yield renew
        except RateLimitedError as error:
            self._lease.renew(name, holder, seconds=error.retry_after or LIMIT_SECONDS)
            raise
        except BaseException:
            self._lease.release(name, holder)
            raise
        self._lease.release(name, holder)

    def _wait_for(self, name: str, holder: str) -> None:
        until = self._clock.monotonic() + WAIT_SECONDS
        while busy := self._lease.acquire(name, holder, seconds=self._lease_seconds):
            if self._clock.monotonic() + busy > until:
                raise RateLimitedError(
                    "Others are publishing to the same branch.",
                    hint="Try again.",
                    retry_after=busy,
                )
            self._clock.sleep(RETRY.pause(1))


def _has_trailers(message: str, trailers: str) -> bool:
    lines = {line.strip() for line in message.splitlines()}
    return lines.issuperset(trailers.splitlines())


def _page_of(commit: Commit, branch: str, document: str) -> str:
    repository_page = commit.html_url.removesuffix(f"/commit/{commit.sha}")
    return f"{repository_page}/blob/{quote(branch)}/{quote(document)}"
