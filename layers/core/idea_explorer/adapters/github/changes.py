"""Approved changes on GitHub: one branch per exploration, one commit per change, one pull request.

A commit carries trailers that name exploration and approval. Each attempt looks for them on the very
head that it then builds on, and GitHub moves the branch only if that head still is its head. So a
change is committed once, however often it is tried and by however many at once.
"""

from idea_explorer.adapters.github.branches import GitHubBranches, MovedError, branch_for
from idea_explorer.adapters.github.client import GitHubClient, safe_to_repeat
from idea_explorer.adapters.github.code import GitHubCode
from idea_explorer.adapters.github.responses import Commit, Named, Pull, read
from idea_explorer.adapters.github.tree import FILE_MODES, GitHubTree
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.errors import BaseMovedError, UnavailableError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.text import one_line
from idea_explorer.ports import Published, WrittenAt

ATTEMPTS = 10  # heads that may move away under one change
PER_PAGE = 100
MAX_PAGES = 10  # a thousand changes of one exploration
MAX_BODY = 60_000  # GitHub takes 65,536 characters
MAX_TITLE = 200


class GitHubChanges:
    """`ref` is what the exploration reads; None is the default branch."""

    def __init__(self, client: GitHubClient, ref: str | None) -> None:
        self._client = client
        self._branches = GitHubBranches(client)
        self._code = GitHubCode(client)
        self._ref = ref

    @safe_to_repeat()
    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        branch = branch_of(exploration)
        base = exploration.base_commit or self._code.commit_of(self._ref)
        for _ in range(ATTEMPTS):
            tip = self._branches.tip(branch)
            head = tip or base
            if written := self._written(head, base, approval.id):
                return WrittenAt(commit=written, branch=branch)
            mode = self._checked(head, base, approval)
            commit = self._commit(head, mode, exploration, approval)
            point = self._branches.advance if tip else self._branches.create
            try:
                point(branch, commit)
            except MovedError:
                continue
            return WrittenAt(commit=commit, branch=branch)
        raise UnavailableError(
            f"The branch {branch} moved at each of {ATTEMPTS} attempts.", hint="Try again."
        )

    @safe_to_repeat()
    def open_pull_request(self, exploration: Exploration, body: str) -> Published | None:
        """The pull request of what was approved, opened once; None where nothing was."""
        branch = branch_of(exploration)
        tip = self._branches.tip(branch)
        if tip is None:
            return None
        text = _with_trailer(body, exploration)
        pull = self._branches.pull(branch, state="all")
        if pull is None:
            title = one_line(exploration.run.title or exploration.request.idea, MAX_TITLE)
            base = self._branches.base(self._ref)
            pull = self._branches.propose(branch, base, title=title, body=text)
        elif pull.state == "open":
            pull = read(Pull, self._client.patch(f"/pulls/{pull.number}", {"body": text}))
        return Published(document="", text="", path=pull.html_url, url=pull.html_url, commit=tip)

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


def branch_of(exploration: Exploration) -> str:
    return branch_for(exploration.id)


def _moved(path: str, hint: str) -> BaseMovedError:
    return BaseMovedError(
        f"{path} has changed since the proposal was made, so nothing was written.", hint=hint
    )


def _with_trailer(body: str, exploration: Exploration) -> str:
    cut = body if len(body) <= MAX_BODY else body[:MAX_BODY] + "\n\n(cut)"
    return f"{cut}\n\nExploration-Id: {exploration.id}"
