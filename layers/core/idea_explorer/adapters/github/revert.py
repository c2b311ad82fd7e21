"""Reverting on GitHub what an exploration wrote: a branch of revert commits, and one pull request.

The commits are found by their trailer on the branch that they were made on, and each is reverted by a
commit of its own, newest first. Files that somebody has changed since are never touched. The branch is
created last, so a branch that exists is complete.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from idea_explorer.adapters.github.branches import (
    GitHubBranches,
    MovedError,
    branch_of,
    list_commits,
)
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.code import GitHubTree
from idea_explorer.adapters.github.responses import Commit, TreeEntry, parse
from idea_explorer.adapters.trailers import exploration_trailer, has_trailers, revert_message
from idea_explorer.domain.commit_text import clean_subject
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ConflictError, MissingError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import RevertResult

MAX_FILES = 300  # the most that GitHub lists for a commit; no exploration writes that many
_REVERTS = re.compile(r"\bThis reverts commit ([0-9a-f]{40})\b")


@dataclass(frozen=True, slots=True)
class _RevertStep:
    """What reverts one commit: each path's entry before the commit and after it."""

    commit: Commit
    before: dict[str, TreeEntry | None]
    after: dict[str, TreeEntry | None]


class GitHubReverter:
    """`ref` is the branch that was written to, or None for the default branch."""

    def __init__(self, client: GitHubClient, ref: str | None) -> None:
        self._client = client
        self._branches = GitHubBranches(client)
        self._ref = ref

    def propose_revert(self, exploration_id: ExplorationId, *, since: datetime) -> RevertResult:
        base = self._branches.find_base(self._ref)
        head = self._branches.tip(base)
        standing, reverted = self._find_own(head, exploration_id, since) if head else ([], [])
        if head is None or not standing:
            return self._report_nothing_left(exploration_id, base, reverted)
        branch = _revert_branch(exploration_id, standing[0])
        steps = [self._step(commit) for commit in standing]
        is_new = self._branches.tip(branch) is None
        if is_new:
            self._check_unchanged(head, steps)
            is_new = self._create(branch, self._revert(head, steps, exploration_id))
        pull = self._branches.find_pull_request(branch, state="open")
        if pull is None:
            title = f'Revert "{_subject(standing[-1], 150)}"'
            body = _body(exploration_id, standing)
            pull = self._branches.open_pull_request(branch, base, title=title, body=body)
            is_new = True
        return RevertResult(files=_files(steps), is_new=is_new, url=pull.html_url)

    def _find_own(
        self, head: str, exploration_id: ExplorationId, since: datetime
    ) -> tuple[list[Commit], list[Commit]]:
        """The exploration's commits, newest first: those in effect, and those reverted since.

        Merge commits are skipped: the commits that they merged are in the history too.
        """
        trailer = exploration_trailer(exploration_id)
        standing: list[Commit] = []
        reverted: list[Commit] = []
        reverted_shas: set[str] = set()
        commits = list_commits(
            self._client,
            head,
            since,
            unknown="its commits cannot be found",
            hint="Look for its id in the history and use git revert.",
        )
        for commit in commits:
            is_own = len(commit.parents) < 2 and has_trailers(commit.message, trailer)
            if commit.sha in reverted_shas:  # a revert that was reverted no longer counts
                reverted += [commit] if is_own else []
                continue
            reverted_shas.update(_REVERTS.findall(commit.message))
            standing += [commit] if is_own else []
        return standing, reverted

    def _report_nothing_left(
        self, exploration_id: ExplorationId, base: str, reverted: Sequence[Commit]
    ) -> RevertResult:
        if reverted:
            branch = _revert_branch(exploration_id, reverted[0])
            pull = self._branches.find_pull_request(branch, state="all")
            files = _files([self._step(commit) for commit in reverted])
            return RevertResult(files=files, is_new=False, url=pull.html_url if pull else None)
        branch = branch_of(exploration_id)
        if self._branches.tip(branch):
            pull = self._branches.find_pull_request(branch, state="open")
            raise ConflictError(
                f"What exploration {exploration_id} wrote is not in {base}, so there is nothing to"
                " revert.",
                hint=f"Close its pull request instead: {pull.html_url}"
                if pull
                else f"It is only on the branch {branch}.",
            )
        raise MissingError(
            f"Exploration {exploration_id} wrote nothing to {base} of {self._client.repository}."
        )

    def _step(self, commit: Commit) -> _RevertStep:
        files = parse(Commit, self._client.get("commits", commit.sha)).files
        if len(files) >= MAX_FILES:
            raise ConflictError(
                f"The commit {commit.sha} changes too many files to be reverted here.",
                hint=f"Use: git revert {commit.sha}",
            )
        names = [name for file in files for name in (file.filename, file.previous_filename) if name]
        return _RevertStep(
            commit=commit,
            before=self._entries(commit.parents[0].sha if commit.parents else None, names),
            after=self._entries(commit.sha, names),
        )

    def _entries(self, sha: str | None, names: Sequence[str]) -> dict[str, TreeEntry | None]:
        tree = GitHubTree(self._client, sha) if sha else None
        return {name: tree.find(name) if tree else None for name in names}

    def _check_unchanged(self, head: str, steps: Sequence[_RevertStep]) -> None:
        """Raises ConflictError unless every file is still as the exploration left it."""
        tree = GitHubTree(self._client, head)
        now = {name: tree.find(name) for name in _files(steps)}
        changed: list[str] = []
        for step in steps:
            for name, left in step.after.items():
                if not _is_same(now[name], left):
                    changed.append(name)
                now[name] = step.before[name]
        if changed:
            names = ", ".join(dict.fromkeys(changed))
            shas = " ".join(step.commit.sha for step in steps)
            raise ConflictError(
                f"Changed since: {names}; nothing was undone.",
                hint=f"Revert it yourself: git revert {shas}",
            )

    def _revert(
        self, head: str, steps: Sequence[_RevertStep], exploration_id: ExplorationId
    ) -> str:
        """Create one revert commit per step, newest first, that no branch points to yet."""
        tip = head
        for step in steps:
            rows = [_tree_row(name, step) for name in step.before]
            subject = f'Revert "{_subject(step.commit, 60)}"'
            message = revert_message(subject, step.commit.sha, exploration_id)
            tip = self._branches.create_commit(tip, rows, message)
        return tip

    def _create(self, branch: str, sha: str) -> bool:
        try:
            self._branches.create(branch, sha)
        except MovedError:
            return False  # another worker was faster
        return True


def _revert_branch(exploration_id: ExplorationId, newest: Commit) -> str:
    """Named after what it reverts, so that a later run gets a branch of its own."""
    return f"idea-explorer/revert-{exploration_id}-{newest.sha[:8]}"


def _is_same(one: TreeEntry | None, other: TreeEntry | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.sha, one.mode) == (other.sha, other.mode)


def _files(steps: Sequence[_RevertStep]) -> list[str]:
    return sorted({name for step in steps for name in step.before})


def _tree_row(name: str, step: _RevertStep) -> dict[str, str | None]:
    """The entry that restores a file; without a sha it removes it."""
    before = step.before[name]
    entry = before or step.after[name]
    assert entry is not None
    return {
        "path": name,
        "mode": entry.mode,
        "type": entry.type,
        "sha": before.sha if before else None,
    }


def _subject(commit: Commit, limit: int) -> str:
    return clean_subject(commit.message.split("\n", 1)[0], limit)


def _body(exploration_id: ExplorationId, commits: Sequence[Commit]) -> str:
    lines = [f"This reverts commit {commit.sha}.\n{_subject(commit, 100)}" for commit in commits]
    return "\n\n".join([*lines, f"Reverts-Exploration: {exploration_id}"])
