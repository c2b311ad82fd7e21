"""Branches on GitHub and the pull requests that propose them."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import Pull, Reference, read
from idea_explorer.domain.errors import (
    ConfigurationError,
    DocumentMissingError,
    RejectedError,
    UpstreamConflictError,
)


class MovedError(Exception):
    """The branch is not where it was; what was built on it is void."""


class GitHubBranches:
    def __init__(self, client: GitHubClient) -> None:
        self._client = client

    def tip(self, branch: str) -> str | None:
        """The commit that a branch points to; None where there is no such branch."""
        try:
            answer = self._client.get(f"/git/ref/heads/{quote(branch)}")
        except DocumentMissingError:
            return None
        return read(Reference, answer).object.sha

    def base(self, ref: str | None) -> str:
        """The branch that takes changes: the ref where it is one, for a tag or a commit takes none."""
        if ref and self.tip(ref):
            return ref
        return self.default()

    def default(self) -> str:
        """The repository's default branch."""
        return self._client.about().default_branch

    def create(self, branch: str, sha: str) -> None:
        """Raises MovedError where the branch is there by now."""
        with _moved_where("already exists"):
            self._client.post("/git/refs", {"ref": f"refs/heads/{branch}", "sha": sha})

    def advance(self, branch: str, sha: str) -> None:
        """Raises MovedError where the branch holds something that the commit does not build on."""
        with _moved_where("fast forward"):
            self._client.patch(f"/git/refs/heads/{quote(branch)}", {"sha": sha, "force": False})

    def pull(self, branch: str, *, state: str) -> Pull | None:
        """The newest pull request of a branch: `open`, or in whatever state with `all`."""
        answer = self._client.get("/pulls", head=f"{self._client.owner()}:{branch}", state=state)
        return next(iter(read(list[Pull], answer)), None)

    def propose(self, branch: str, base: str, *, title: str, body: str) -> Pull:
        """Open a pull request; where another was quicker, theirs is the one."""
        wanted = {"title": title, "head": branch, "base": base, "body": body}
        try:
            return read(Pull, self._client.post("/pulls", wanted))
        except RejectedError as error:
            if found := self.pull(branch, state="all"):
                return found
            raise ConfigurationError(
                f"GitHub opens no pull request for {branch}: {error.message}",
                hint="The changes are on the branch; open one by hand.",
            ) from error


@contextmanager
def _moved_where(said: str) -> Iterator[None]:
    try:
        yield
    except UpstreamConflictError as error:
        raise MovedError from error
    except RejectedError as error:
        if said in error.message:
            raise MovedError from error
        raise


def branch_for(exploration_id: str) -> str:
    """The branch of an exploration's approved changes."""
    return f"idea-explorer/{exploration_id}"
