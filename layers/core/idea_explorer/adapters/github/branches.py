"""Branches on GitHub, their commits and their pull requests."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TypeAlias

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import Commit, GitObject, GitRef, PullRequest, parse
from idea_explorer.domain.errors import (
    ConfigurationError,
    DocumentMissingError,
    RejectedError,
    UpstreamConflictError,
)

TreeRow: TypeAlias = Mapping[str, str | None]

PER_PAGE = 100
MAX_PAGES = 50  # 5,000 commits since an exploration began; with more, we give up
CLOCK_SLACK = timedelta(days=1)  # a laptop's clock may be wrong by hours, hardly by more


class MovedError(Exception):
    """The branch has moved, so the commit that was built on it is of no use."""


class GitHubBranches:
    def __init__(self, client: GitHubClient) -> None:
        self._client = client

    def tip(self, branch: str) -> str | None:
        """The commit that a branch points to; None if there is no such branch."""
        try:
            response = self._client.get("git", "ref", "heads", *branch.split("/"))
        except DocumentMissingError:
            return None
        return parse(GitRef, response).sha

    def find_base(self, ref: str | None) -> str:
        """The branch to merge into: the ref if it is a branch, else the default branch."""
        if ref and self.tip(ref):
            return ref
        return self._client.about().default_branch

    def default_branch(self) -> str:
        """Raises ConfigurationError if the token cannot see the repository."""
        try:
            return self._client.about().default_branch
        except DocumentMissingError as error:
            raise ConfigurationError(error.message, hint=error.hint) from error

    def create_commit(self, parent: str, entries: Sequence[TreeRow], message: str) -> str:
        """A commit that changes these tree entries; no branch points to it yet."""
        tree = self._client.post("git", "trees", body={"base_tree": parent, "tree": entries})
        body = {"message": message, "tree": parse(GitObject, tree).sha, "parents": [parent]}
        return parse(GitObject, self._client.post("git", "commits", body=body)).sha

    def create(self, branch: str, sha: str) -> None:
        """Raises MovedError if the branch exists by now."""
        with _raise_moved_if("already exists"):
            self._client.post("git", "refs", body={"ref": f"refs/heads/{branch}", "sha": sha})

    def advance(self, branch: str, sha: str) -> None:
        """Raises MovedError unless it is a fast-forward."""
        with _raise_moved_if("fast forward"):
            self._client.patch(
                *("git", "refs", "heads", *branch.split("/")), body={"sha": sha, "force": False}
            )

    def find_pull_request(self, branch: str, *, state: str) -> PullRequest | None:
        """The newest pull request of a branch, with the state `open` or `all`."""
        response = self._client.get("pulls", head=f"{self._client.owner()}:{branch}", state=state)
        return next(iter(parse(list[PullRequest], response)), None)

    def open_pull_request(self, branch: str, base: str, *, title: str, body: str) -> PullRequest:
        """Open a pull request, or return the one that another worker has just opened."""
        wanted = {"title": title, "head": branch, "base": base, "body": body}
        try:
            return parse(PullRequest, self._client.post("pulls", body=wanted))
        except RejectedError as error:
            if found := self.find_pull_request(branch, state="all"):
                return found
            raise ConfigurationError(
                f"GitHub did not open a pull request for {branch}: {error.message}",
                hint="The changes are on the branch; open one yourself.",
            ) from error


@contextmanager
def _raise_moved_if(message: str) -> Iterator[None]:
    try:
        yield
    except UpstreamConflictError as error:
        raise MovedError from error
    except RejectedError as error:
        if message in error.message:
            raise MovedError from error
        raise


def branch_of(exploration_id: str) -> str:
    return f"idea-explorer/{exploration_id}"


def list_commits(
    client: GitHubClient, head: str, since: datetime, *, unknown: str, hint: str
) -> Iterator[Commit]:
    """Newest first. The whole first page is included, whatever its dates.

    Raises ConfigurationError, with what is `unknown` then, if there are too many to go through.
    """
    for commits in list_pages(client, head, MAX_PAGES):
        yield from commits
        oldest = min((commit.date for commit in commits), default=since)
        if len(commits) < PER_PAGE or oldest < since - CLOCK_SLACK:
            return
    raise ConfigurationError(
        f"More than {MAX_PAGES * PER_PAGE:,} commits were made since the exploration began, so"
        f" {unknown}.",
        hint=hint,
    )


def list_pages(client: GitHubClient, head: str, most: int) -> Iterator[list[Commit]]:
    """The history of a commit, newest first, in pages of which the last may be short."""
    for page in range(1, most + 1):
        response = client.get("commits", sha=head, per_page=PER_PAGE, page=page)
        commits = parse(list[Commit], response)
        yield commits
        if len(commits) < PER_PAGE:
            return
