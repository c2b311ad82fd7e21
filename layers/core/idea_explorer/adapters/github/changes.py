"""Approved changes on GitHub: one branch per exploration, one commit per change, one pull request.

Each commit has trailers that name the exploration and the approval. Every attempt looks for them in the
history of the head that it builds on, and GitHub only fast-forwards the branch. So a change is committed
exactly once, however often and by however many workers it is tried.
"""

from itertools import chain

from idea_explorer.adapters.github.branches import (
    GitHubBranches,
    MovedError,
    TreeRow,
    branch_of,
    list_pages,
)
from idea_explorer.adapters.github.client import GitHubClient, make_retryable
from idea_explorer.adapters.github.code import FILE_MODES, GitHubCode, GitHubTree
from idea_explorer.adapters.github.responses import PullRequest, parse
from idea_explorer.adapters.trailers import (
    approval_trailer,
    commit_subject,
    exploration_trailer,
    has_trailers,
)
from idea_explorer.domain.approvals import Approval, FileChange
from idea_explorer.domain.commit_text import clean_body, clean_subject
from idea_explorer.domain.errors import BaseMovedError, UnavailableError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.markdown import close_code
from idea_explorer.ports import PublishResult, WrittenAt

ATTEMPTS = 10  # how often the branch may move under one change
MAX_PAGES = 10  # a thousand changes by one exploration
MAX_BODY = 60_000  # GitHub takes 65,536 characters
MAX_TITLE = 200


class GitHubChanges:
    """`ref` is what the exploration reads; None means the default branch."""

    def __init__(self, client: GitHubClient, ref: str | None) -> None:
        self._client = client
        self._branches = GitHubBranches(client)
        self._code = GitHubCode(client)
        self._ref = ref

    @make_retryable()
    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        branch = branch_of(exploration.id)
        base = exploration.base_commit or self._code.commit_of(self._ref)
        for _ in range(ATTEMPTS):
            tip = self._branches.tip(branch)
            head = tip or base
            if written := self._find_commit(head, base, approval.id):
                return WrittenAt(commit=written, branch=branch)
            mode = self._check_base(head, base, approval)
            commit = self._commit(head, mode, exploration, approval)
            move = self._branches.advance if tip else self._branches.create
            try:
                move(branch, commit)
            except MovedError:
                continue
            return WrittenAt(commit=commit, branch=branch)
        raise UnavailableError(
            f"The GitHub branch {branch} moved at each of {ATTEMPTS} attempts.", hint="Try again."
        )

    @make_retryable()
    def open_pull_request(self, exploration: Exploration, body: str) -> PublishResult | None:
        branch = branch_of(exploration.id)
        tip = self._branches.tip(branch)
        if tip is None:
            return None
        text = clean_body(body[: 2 * MAX_BODY])
        text = text if len(text) <= MAX_BODY else close_code(text[:MAX_BODY]) + "\n\n(cut)"
        text += f"\n\n{exploration_trailer(exploration.id)}"
        pull = self._branches.find_pull_request(branch, state="all")
        if pull is None:
            title = clean_subject(exploration.run.title or exploration.request.idea, MAX_TITLE)
            base = self._branches.find_base(self._ref)
            pull = self._branches.open_pull_request(branch, base, title=title, body=text)
        elif pull.state == "open":
            pull = parse(
                PullRequest, self._client.patch("pulls", str(pull.number), body={"body": text})
            )
        return PublishResult(
            document="", text="", path=pull.html_url, url=pull.html_url, commit=tip
        )

    def _find_commit(self, head: str, base: str, approval_id: str) -> str | None:
        """The commit with this approval's trailer between the base and the head."""
        for commit in chain.from_iterable(list_pages(self._client, head, MAX_PAGES)):
            if commit.sha == base:
                return None
            if has_trailers(commit.message, approval_trailer(approval_id)):
                return commit.sha
        return None

    def _check_base(self, head: str, base: str, approval: Approval) -> str:
        """Returns the file's mode; raises BaseMovedError if a file has changed since the proposal.

        Neither the exploration's branch nor the branch it started from may have changed it.
        """
        mode = "100644"
        now = self._code.commit_of(self._ref)
        for path, base_sha, _ in approval.changes:
            entry = GitHubTree(self._client, head).find(path)
            if (entry.sha if entry else None) != base_sha:
                raise _base_moved(path, "Read it again and make a new proposal.")
            if entry and entry.mode not in FILE_MODES:
                raise _base_moved(path, "It is no longer a plain file.")
            if now != base:
                before, after = (GitHubTree(self._client, sha).find(path) for sha in (base, now))
                if (before.sha if before else None) != (after.sha if after else None):
                    raise _base_moved(
                        path, "Start a new exploration, which will read the current version."
                    )
            mode = entry.mode if entry else mode
        return mode

    def _commit(self, head: str, mode: str, exploration: Exploration, approval: Approval) -> str:
        files = [_tree_row(change, mode) for change in approval.changes]
        subject = commit_subject(approval)
        trailers = f"{exploration_trailer(exploration.id)}\n{approval_trailer(approval.id)}"
        return self._branches.create_commit(head, files, f"{subject}\n\n{trailers}")


def _tree_row(change: FileChange, mode: str) -> TreeRow:
    """A file as GitHub writes it into a tree; one without content is removed from it."""
    row: dict[str, str | None] = {"path": change.path, "mode": mode, "type": "blob"}
    return {**row, **({"sha": None} if change.content is None else {"content": change.content})}


def _base_moved(path: str, hint: str) -> BaseMovedError:
    return BaseMovedError(
        f"{path} has changed since the proposal was made, so nothing was written.", hint=hint
    )
