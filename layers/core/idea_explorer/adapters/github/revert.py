"""Undoing on GitHub what an exploration wrote: a branch of reverts, and one pull request for it.

The commits are found by their trailer on the branch that they were made on, and each is undone by a
commit of its own, newest first. Only what still is as the exploration left it is touched. The branch
is created last and in one go, so one that exists is whole.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from idea_explorer.adapters.github.branches import GitHubBranches, MovedError, branch_for
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.history import history
from idea_explorer.adapters.github.responses import Commit, Named, TreeEntry, read
from idea_explorer.adapters.github.tree import GitHubTree
from idea_explorer.domain.errors import ConflictError, MissingError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.text import one_line
from idea_explorer.ports import Undone

MAX_FILES = 300  # of one commit, as GitHub lists them; more were not an exploration's alone
_REVERTS = re.compile(r"\bThis reverts commit ([0-9a-f]{40})\b")


@dataclass(frozen=True, slots=True)
class _Own:
    """An exploration's commits on a branch, newest first: those that stand, and those undone by now."""

    standing: Sequence[Commit]
    undone: Sequence[Commit]


@dataclass(frozen=True, slots=True)
class _Step:
    """What undoes one commit: what stood at each of its paths before, and what it put there."""

    commit: Commit
    before: dict[str, TreeEntry | None]
    after: dict[str, TreeEntry | None]


class GitHubReverter:
    """`ref` is the branch that was written to, or None for the default branch."""

    def __init__(self, client: GitHubClient, ref: str | None) -> None:
        self._client = client
        self._branches = GitHubBranches(client)
        self._ref = ref

    def propose_revert(self, exploration_id: ExplorationId, *, since: datetime) -> Undone:
        base = self._branches.base(self._ref)
        head = self._branches.tip(base)
        own = self._own(head, exploration_id, since) if head else _Own([], [])
        if head is None or not own.standing:
            return self._nothing_left(exploration_id, base, own)
        branch = _revert_branch(exploration_id, own.standing[0])
        steps = [self._step(commit) for commit in own.standing]
        is_new = self._branches.tip(branch) is None
        if is_new:
            self._check(head, steps)
            is_new = self._create(branch, self._commits(head, steps, exploration_id))
        pull = self._branches.pull(branch, state="open")
        if pull is None:
            title = f'Revert "{_subject(own.standing[-1], 150)}"'
            body = _body(exploration_id, own.standing)
            pull = self._branches.propose(branch, base, title=title, body=body)
            is_new = True
        return Undone(files=_files(steps), is_new=is_new, url=pull.html_url)

    def _own(self, head: str, exploration_id: ExplorationId, since: datetime) -> _Own:
        """Merges are passed over: what they brought stands in the commits that they merged."""
        standing: list[Commit] = []
        undone: list[Commit] = []
        reverted: set[str] = set()
        commits = history(
            self._client,
            head,
            since,
            unknown="what it wrote cannot be found",
            hint="Look for its id in the history and use git revert.",
        )
        for commit in commits:
            is_own = _is_own(commit, exploration_id)
            if commit.sha in reverted:  # then what it reverted stands again
                undone += [commit] if is_own else []
                continue
            reverted.update(_REVERTS.findall(commit.commit.message))
            standing += [commit] if is_own else []
        return _Own(standing, undone)

    def _nothing_left(self, exploration_id: ExplorationId, base: str, own: _Own) -> Undone:
        if own.undone:
            pull = self._branches.pull(_revert_branch(exploration_id, own.undone[0]), state="all")
            files = _files([self._step(commit) for commit in own.undone])
            return Undone(files=files, is_new=False, url=pull.html_url if pull else None)
        branch = branch_for(exploration_id)
        if self._branches.tip(branch):
            pull = self._branches.pull(branch, state="open")
            raise ConflictError(
                f"What exploration {exploration_id} wrote is not in {base}, so there is nothing to"
                " undo.",
                hint=f"Close its pull request instead: {pull.html_url}"
                if pull
                else f"It stands on the branch {branch} only.",
            )
        raise MissingError(
            f"Exploration {exploration_id} wrote nothing to {base} of {self._client.repository}."
        )

    def _step(self, commit: Commit) -> _Step:
        files = read(Commit, self._client.get(f"/commits/{commit.sha}")).files
        if len(files) >= MAX_FILES:
            raise ConflictError(
                f"The commit {commit.sha} changes too many files to be undone here.",
                hint=f"Use: git revert {commit.sha}",
            )
        names = [name for file in files for name in (file.filename, file.previous_filename) if name]
        return _Step(
            commit=commit,
            before=self._entries(commit.parents[0].sha if commit.parents else None, names),
            after=self._entries(commit.sha, names),
        )

    def _entries(self, sha: str | None, names: Sequence[str]) -> dict[str, TreeEntry | None]:
        tree = GitHubTree(self._client, sha) if sha else None
        return {name: tree.find(name) if tree else None for name in names}

    def _check(self, head: str, steps: Sequence[_Step]) -> None:
        """Raises ConflictError unless each file still is what the exploration made of it."""
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
                hint=f"Undo it by hand: git revert {shas}",
            )

    def _commits(self, head: str, steps: Sequence[_Step], exploration_id: ExplorationId) -> str:
        """One commit that undoes each, newest first; nothing points to them yet."""
        tip = head
        for step in steps:
            rows = [_row(name, step) for name in step.before]
            tree = read(Named, self._client.post("/git/trees", {"base_tree": tip, "tree": rows}))
            body = {
                "message": _message(step.commit, exploration_id),
                "tree": tree.sha,
                "parents": [tip],
            }
            tip = read(Named, self._client.post("/git/commits", body)).sha
        return tip

    def _create(self, branch: str, sha: str) -> bool:
        try:
            self._branches.create(branch, sha)
        except MovedError:
            return False  # another was quicker
        return True


def _revert_branch(exploration_id: ExplorationId, newest: Commit) -> str:
    """Named by what it undoes, so that a later run's work gets a branch of its own."""
    return f"idea-explorer/revert-{exploration_id}-{newest.sha[:8]}"


def _is_own(commit: Commit, exploration_id: ExplorationId) -> bool:
    lines = (line.strip() for line in commit.commit.message.splitlines())
    return len(commit.parents) < 2 and f"Exploration-Id: {exploration_id}" in lines


def _is_same(one: TreeEntry | None, other: TreeEntry | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.sha, one.mode) == (other.sha, other.mode)


def _files(steps: Sequence[_Step]) -> list[str]:
    return sorted({name for step in steps for name in step.before})


def _row(name: str, step: _Step) -> dict[str, str | None]:
    """A tree's entry that puts back what stood there; without a sha it removes the file."""
    was, left = step.before[name], step.after[name]
    kept = was or left
    assert kept is not None
    return {
        "path": name,
        "mode": kept.mode,
        "type": kept.type,
        "sha": was.sha if was else None,
    }


def _subject(commit: Commit, limit: int) -> str:
    return one_line(commit.commit.message.split("\n", 1)[0], limit)


def _message(commit: Commit, exploration_id: ExplorationId) -> str:
    return (
        f'Revert "{_subject(commit, 60)}"\n\nThis reverts commit {commit.sha}.\n\n'
        f"Reverts-Exploration: {exploration_id}"
    )


def _body(exploration_id: ExplorationId, commits: Sequence[Commit]) -> str:
    lines = [f"This reverts commit {commit.sha}.\n{_subject(commit, 100)}" for commit in commits]
    return "\n\n".join([*lines, f"Reverts-Exploration: {exploration_id}"])
