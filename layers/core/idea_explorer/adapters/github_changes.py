"""Approved changes on GitHub: one branch per exploration, one commit per change, one pull request.

A commit carries trailers that name exploration and approval. Each attempt looks for them on the very
head that it then builds on, and GitHub moves the branch only if that head still is its head. So a
change is committed once, however often it is tried and by however many at once.
"""

from urllib.parse import quote

from idea_explorer.adapters.github_answers import Commit, Named, Pull, Reference, Repository, read
from idea_explorer.adapters.github_client import GitHubClient
from idea_explorer.adapters.github_code import GitHubCode
from idea_explorer.adapters.github_tree import FILE_MODES, GitHubTree
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.errors import (
    BaseMovedError,
    ConfigurationError,
    DocumentMissingError,
    RejectedError,
    UnavailableError,
    UpstreamConflictError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.text import one_line
from idea_explorer.ports import Published, WrittenAt

ATTEMPTS = 10  # heads that may move away under one change
PER_PAGE = 100
MAX_PAGES = 10  # a thousand changes of one exploration
MAX_BODY = 60_000  # GitHub takes 65,536 characters
MAX_TITLE = 200


class _MovedError(Exception):
    """The branch is not where it was; what was built on it is void."""


class GitHubChanges:
    """`ref` is what the exploration reads; None is the default branch."""

    def __init__(self, client: GitHubClient, ref: str | None) -> None:
        self._client = client
        self._code = GitHubCode(client)
        self._ref = ref

    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        branch = branch_of(exploration)
        base = exploration.base_commit or self._code.commit_of(self._ref)
        for _ in range(ATTEMPTS):
            tip = self._tip(branch)
            head = tip or base
            if written := self._written(head, base, approval.id):
                return WrittenAt(commit=written, branch=branch)
            mode = self._checked(head, base, approval)
            commit = self._commit(head, mode, exploration, approval)
            try:
                self._move(branch, commit, exists=tip is not None)
            except _MovedError:
                continue
            return WrittenAt(commit=commit, branch=branch)
        raise UnavailableError(
            f"The branch {branch} moved at each of {ATTEMPTS} attempts.", hint="Try again."
        )

    def open_pull_request(self, exploration: Exploration, body: str) -> Published | None:
        """The pull request of what was approved, opened once; None where nothing was."""
        branch = branch_of(exploration)
        tip = self._tip(branch)
        if tip is None:
            return None
        text = _with_trailer(body, exploration)
        pull = self._found_pull(branch)
        if pull is None:
            pull = self._opened(branch, exploration, text)
        elif pull.state == "open":
            pull = read(Pull, self._client.patch(f"/pulls/{pull.number}", {"body": text}))
        return Published(document="", text="", path=pull.html_url, url=pull.html_url, commit=tip)

    def _tip(self, branch: str) -> str | None:
        try:
            answer = self._client.get(f"/git/ref/heads/{quote(branch)}")
        except DocumentMissingError:
            return None
        return read(Reference, answer).object.sha

    def _written(self, head: str, base: str, approval_id: str) -> str | None:
        """The commit that carries this approval, looked for from the head back to the base."""
        for page in range(1, MAX_PAGES + 1):
            answer = self._client.get("/commits", sha=head, per_page=PER_PAGE, page=page)
            commits = read(list[Commit], answer)
            for commit in commits:
                if commit.sha == base:
                    return None
                if f"Approval-Id: {approval_id}" in commit.commit.message.splitlines():
                    return commit.sha
            if len(commits) < PER_PAGE:
                break
        return None

    def _checked(self, head: str, base: str, approval: Approval) -> str:
        """The mode that the file shall have; raises BaseMovedError where it is not what was proposed on.

        It must be that on the exploration's branch, and the branch it came from must not have changed it.
        """
        path = approval.proposal.path
        entry = GitHubTree(self._client, head).find(path)
        if (entry.sha if entry else None) != approval.proposal.base_sha:
            raise _moved(path, "Read it again and propose anew.")
        if entry and entry.mode not in FILE_MODES:
            raise _moved(path, "It is no plain file any more.")
        now = self._code.commit_of(self._ref)
        if now != base:
            before, after = (GitHubTree(self._client, sha).find(path) for sha in (base, now))
            if (before.sha if before else None) != (after.sha if after else None):
                raise _moved(path, "Start a new exploration, which reads it as it is now.")
        return entry.mode if entry else "100644"

    def _commit(self, head: str, mode: str, exploration: Exploration, approval: Approval) -> str:
        proposal = approval.proposal
        file = {
            "path": proposal.path,
            "mode": mode,
            "type": "blob",
            "content": approval.approved_content,
        }
        tree = self._client.post("/git/trees", {"base_tree": head, "tree": [file]})
        subject = one_line(proposal.description, 72)
        trailers = f"Exploration-Id: {exploration.id}\nApproval-Id: {approval.id}"
        body = {
            "message": f"{subject}\n\n{trailers}",
            "tree": read(Named, tree).sha,
            "parents": [head],
        }
        return read(Named, self._client.post("/git/commits", body)).sha

    def _move(self, branch: str, sha: str, *, exists: bool) -> None:
        try:
            if exists:
                where = f"/git/refs/heads/{quote(branch)}"
                self._client.patch(where, {"sha": sha, "force": False})
            else:
                self._client.post("/git/refs", {"ref": f"refs/heads/{branch}", "sha": sha})
        except UpstreamConflictError as error:
            raise _MovedError from error
        except RejectedError as error:
            if "fast forward" in error.message or "already exists" in error.message:
                raise _MovedError from error
            raise

    def _found_pull(self, branch: str) -> Pull | None:
        owner = self._client.repository.partition("/")[0]
        answer = self._client.get("/pulls", head=f"{owner}:{branch}", state="all")
        return next(iter(read(list[Pull], answer)), None)

    def _opened(self, branch: str, exploration: Exploration, body: str) -> Pull:
        title = one_line(exploration.title or exploration.request.idea, MAX_TITLE)
        wanted = {"title": title, "head": branch, "base": self._base_branch(), "body": body}
        try:
            return read(Pull, self._client.post("/pulls", wanted))
        except RejectedError as error:
            if found := self._found_pull(branch):  # another was quicker
                return found
            raise ConfigurationError(
                f"GitHub opens no pull request for {branch}: {error.message}",
                hint="The changes are on the branch; open one by hand.",
            ) from error

    def _base_branch(self) -> str:
        """What was explored where it is a branch; a tag or a commit takes no changes."""
        if self._ref and self._tip(self._ref):
            return self._ref
        return read(Repository, self._client.get("")).default_branch


def branch_of(exploration: Exploration) -> str:
    return f"idea-explorer/{exploration.id}"


def _moved(path: str, hint: str) -> BaseMovedError:
    return BaseMovedError(
        f"{path} has changed since the proposal was made, so nothing was written.", hint=hint
    )


def _with_trailer(body: str, exploration: Exploration) -> str:
    cut = body if len(body) <= MAX_BODY else body[:MAX_BODY] + "\n\n(cut)"
    return f"{cut}\n\nExploration-Id: {exploration.id}"
