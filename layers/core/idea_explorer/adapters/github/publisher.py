"""Publishing to GitHub: exactly one commit per exploration and run.

The commit has trailers that name the exploration and the run. Every attempt looks for them in the
history of the head that it builds on, and GitHub only fast-forwards the branch. So whatever gets lost,
the next attempt either finds the commit or creates it.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from urllib.parse import quote

from idea_explorer.adapters.github.branches import GitHubBranches, MovedError, list_commits
from idea_explorer.adapters.github.client import LIMIT_SECONDS, GitHubClient, make_retryable
from idea_explorer.adapters.github.code import GitHubTree
from idea_explorer.adapters.github.responses import Commit, parse, unreadable
from idea_explorer.adapters.trailers import has_trailers, run_trailers
from idea_explorer.domain import errors
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.publication import is_document
from idea_explorer.domain.retry import RetryPolicy, retry
from idea_explorer.ports import BranchLease, Clock, PublishResult
from idea_explorer.ports.writing import BuildChange

ATTEMPTS = 10  # how often the branch may move before the workflow retries the whole publication
RETRY = RetryPolicy(
    first=0.3,
    factor=1.0,
    attempts=ATTEMPTS,
    jitter=0.8,
    retry_on=lambda error: isinstance(error, MovedError),
)
LEASE_SECONDS = 30.0  # longer than publishing takes, and how long a crashed publisher blocks others
WAIT_SECONDS = 45.0  # longer than a crashed publisher's lease lasts


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
        except (errors.AuthFailedError, errors.DocumentMissingError) as error:
            raise errors.ConfigurationError(error.message, hint=error.hint) from error
        if about.archived:
            raise errors.ConfigurationError(
                f"{self._client.repository} is archived, so nothing can be published to it.",
                hint="Unarchive it, or name another repository.",
            )
        # GitHub reports neither for an app's token, whatever it may do
        may = about.permissions
        if may and may.pull and not may.push:
            raise errors.ConfigurationError(
                f"The token may read {self._client.repository}, but not write to it.",
                hint="Give it write permission for contents.",
            )

    def publish(
        self, exploration_id: ExplorationId, run: int, build: BuildChange, *, since: datetime
    ) -> PublishResult:
        trailers = run_trailers(exploration_id, run)
        with make_retryable():
            branch = self._named_branch = self._named_branch or self._branches.default_branch()
            try:
                with self._hold_lease(branch) as renew:
                    return retry(
                        lambda: self._attempt(branch, trailers, build, since, renew),
                        RETRY,
                        self._clock,
                    )
            except MovedError:
                raise errors.UnavailableError(
                    f"The GitHub branch {branch} moved at each of {ATTEMPTS} attempts.",
                    hint="Try again.",
                ) from None

    def _attempt(
        self,
        branch: str,
        trailers: str,
        build: BuildChange,
        since: datetime,
        renew: Callable[[], None],
    ) -> PublishResult:
        head, earlier = self._find_commit(self._tip(branch), trailers, since)
        if earlier:
            return self._read_back(earlier, branch)
        change = build(GitHubTree(self._client, head.tree_sha))
        renew()
        files = [
            {"path": path, "mode": "100644", "type": "blob", "content": text}
            for path, text in change.files.items()
        ]
        sha = self._branches.create_commit(head.sha, files, f"{change.message}\n\n{trailers}")
        renew()
        self._advance(branch, head.sha, sha)
        return PublishResult(
            document=change.path,
            text=change.files[change.path],
            path=change.path,
            url=_web_url(head, branch, change.path),
            commit=sha,
            branch=branch,
            notice=change.notice,
        )

    def _tip(self, branch: str) -> str:
        try:
            tip = self._branches.tip(branch)
        except errors.UpstreamConflictError as error:
            raise errors.ConfigurationError(
                f"The repository {self._client.repository} is empty.",
                hint="Add a first commit, for example a README, and publish again.",
            ) from error
        if tip is None:
            self._branches.default_branch()  # raises if it is the repository that is missing
            raise errors.ConfigurationError(
                f"{self._client.repository} has no branch '{branch}'.",
                hint="Create it, or set GITHUB_BRANCH to one that exists.",
            )
        return tip

    def _find_commit(
        self, sha: str, trailers: str, since: datetime
    ) -> tuple[Commit, Commit | None]:
        """The head, and the commit with these trailers in its history if there is one."""
        commits = list_commits(
            self._client,
            sha,
            since,
            unknown="there is no telling whether it was published",
            hint="Look for its id in the history; start it again if it is not there.",
        )
        head = next(commits, None)
        if head is None or head.sha != sha:
            raise unreadable()
        own = (c for c in chain([head], commits) if has_trailers(c.message, trailers))
        return head, next(own, None)

    def _read_back(self, commit: Commit, branch: str) -> PublishResult:
        """What an earlier attempt published, read from its commit."""
        files = parse(Commit, self._client.get("commits", commit.sha)).files
        document = next((file.filename for file in files if is_document(file.filename)), "")
        try:
            tree = GitHubTree(self._client, commit.tree_sha)
            text = tree.read_text(document) if document else None
        except errors.DocumentError:
            text = None
        return PublishResult(
            document=document,
            text=text or "",
            path=document,
            url=_web_url(commit, branch, document),
            commit=commit.sha,
            branch=branch,
        )

    def _advance(self, branch: str, parent: str, sha: str) -> None:
        try:
            self._branches.advance(branch, sha)
        except errors.RejectedError as error:
            if self._tip(branch) != parent:
                raise MovedError from error
            raise errors.ConfigurationError(
                f"The GitHub branch '{branch}' of {self._client.repository} rejected the commit:"
                f" {error.message}",
                hint="Let this token push to it, or set GITHUB_BRANCH to an unprotected branch.",
            ) from error
        except errors.AuthFailedError as error:
            raise errors.ConfigurationError(
                f"The token may not push to '{branch}' of {self._client.repository}:"
                f" {error.message}",
                hint="Give it write permission for contents, or set GITHUB_BRANCH to another branch.",
            ) from error

    @contextmanager
    def _hold_lease(self, branch: str) -> Iterator[Callable[[], None]]:
        """One publisher at a time, and none before a rate limit of GitHub's has passed."""
        name = f"{self._client.repository}#{branch}".lower()
        holder = secrets.token_hex(8)
        self._wait_for(name, holder)

        def renew() -> None:
            self._lease.renew(name, holder, seconds=self._lease_seconds)

        try:
            yield renew
        except errors.RateLimitedError as error:
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
                raise errors.RateLimitedError(
                    "Others are publishing to the same GitHub branch.",
                    hint="Try again.",
                    retry_after=busy,
                )
            self._clock.sleep(RETRY.pause(1))


def _web_url(commit: Commit, branch: str, document: str) -> str:
    repository_page = commit.html_url.removesuffix(f"/commit/{commit.sha}")
    return f"{repository_page}/blob/{quote(branch)}/{quote(document)}"
