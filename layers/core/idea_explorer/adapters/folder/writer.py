"""Writes approved changes to a folder, and restores what an exploration has written."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from idea_explorer.adapters.folder.git import GitFolder
from idea_explorer.adapters.folder.layout import Layout
from idea_explorer.adapters.folder.locks import lock_folder
from idea_explorer.adapters.folder.publisher import FolderTree, LockedFolder, write_text
from idea_explorer.adapters.safe_files import (
    NEW_FILE,
    LinkError,
    find_mode,
    has_exact_name,
    read_file,
    remove_file,
)
from idea_explorer.adapters.trailers import (
    approval_trailer,
    commit_subject,
    exploration_trailer,
    revert_message,
)
from idea_explorer.domain.approvals import Approval, FileChange
from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import (
    BaseMovedError,
    ConfigurationError,
    ConflictError,
    ExternalError,
    NotADocumentError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.publication import MAX_REWRITTEN_BYTES
from idea_explorer.ports import RevertResult, Tree, WrittenAt


class FolderWriter:
    """Writes each file atomically, and only if none has changed since the proposal was made. In a git work
    tree each change becomes a commit, unless a file had changes of its own that are not committed yet."""

    def __init__(self, root: Path, lock: Path, commits: GitFolder | None = None) -> None:
        self._root = root.resolve()
        self._lock = lock
        self._commits = commits

    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        trailers = f"{exploration_trailer(exploration.id)}\n{approval_trailer(approval.id)}"
        with lock_folder(self._lock):
            mode = find_mode(self._root, approval.proposal.path)
            return replace(self._write(approval, trailers, mode), mode=mode)

    def _write(self, approval: Approval, trailers: str, mode: int) -> WrittenAt:
        todo = self._check_base(approval)
        if not todo and self._commits and (earlier := self._commits.find(trailers)):
            return WrittenAt(commit=earlier.sha, branch=None)
        unsaved = self._find_uncommitted(approval, todo)
        for change in todo:
            if change.content is None:
                remove_text(self._root, change.path)
            else:
                write_text(self._root, change.path, change.content, mode=mode)
        if self._commits is None:
            return WrittenAt(commit=None, branch=None)
        if unsaved:
            notice = f"Not committed: {unsaved}."
            return WrittenAt(commit=None, branch=None, notice=notice)
        message = f"{commit_subject(approval)}\n\n{trailers}"
        return self._commit(message, [change.path for change in approval.changes])

    def _check_base(self, approval: Approval) -> list[FileChange]:
        """What is still to be done; an earlier attempt may have done the rest."""
        todo: list[FileChange] = []
        for change in approval.changes:
            current = self._read(change.path)
            wanted = None if change.content is None else change.content.encode("utf-8")
            if current == wanted:
                self._check_name(change)
                continue
            if (None if current is None else blob_sha(current)) != change.base_sha:
                raise self._base_moved(change)
            todo.append(change)
        return todo

    def _base_moved(self, change: FileChange) -> BaseMovedError:
        if change.base_sha is None and self._commits and self._commits.is_ignored(change.path):
            return BaseMovedError(
                f"{change.path} exists already, and git ignores it, so nothing was written.",
                hint="The tools do not show files that git ignores; choose another path.",
            )
        return BaseMovedError(
            f"{change.path} has changed since the proposal was made, so nothing was written.",
            hint="Read it again and make a new proposal.",
        )

    def _check_name(self, change: FileChange) -> None:
        """On a file system that ignores case, a new name may lead to a file that has another one: to remove
        that file after it would lose both."""
        is_new = change.base_sha is None and change.content is not None
        if is_new and not has_exact_name(self._root, change.path):
            raise BaseMovedError(
                f"{change.path} is another name of a file that exists, because this file system ignores case;"
                " nothing was written.",
                hint="Leave its name as it is, or choose one that differs in more than case.",
            )

    def _find_uncommitted(self, approval: Approval, todo: Container[FileChange]) -> str:
        """Why the change cannot be a commit of its own; empty if it can."""
        if self._commits is None:
            return ""
        for change in approval.changes:
            if self._commits.is_ignored(change.path):
                return f"git ignores {change.path}"
            # after a crash, what it changed is the change itself: then the last commit has to be the base
            is_written = change not in todo
            if is_written and not self._commits.holds(change.path, change.base_sha):
                return f"{change.path} had other changes"
            if not is_written and self._commits.is_changed(change.path):
                return f"{change.path} has other changes that are not committed"
        return ""

    def _commit(self, message: str, paths: Sequence[str]) -> WrittenAt:
        assert self._commits is not None
        try:
            return WrittenAt(commit=self._commits.commit(message, paths), branch=None)
        except ConfigurationError as error:
            return WrittenAt(commit=None, branch=None, notice=error.message)

    def _read(self, path: str) -> bytes | None:
        try:
            return read_file(self._root, path, MAX_REWRITTEN_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except LinkError as error:
            raise BaseMovedError(f"{path} has become a link, so nothing was written.") from error
        except OSError as error:
            raise BaseMovedError(f"{path} cannot be read: {error.strerror}.") from error


class FolderRestorer(LockedFolder):
    """Follows no links, and holds the lock that publishers to the same folder take."""

    def restore(
        self,
        exploration_id: ExplorationId,
        plan: Callable[[Tree], Mapping[str, str | None]],
        modes: Mapping[str, int] | None = None,
    ) -> RevertResult:
        with lock_folder(self._lock):
            planned = plan(FolderTree(self._root, self._layout))
            for path, text in planned.items():
                self._restore(path, text, (modes or {}).get(path, NEW_FILE))
            files = set(planned)
            if self._commits is None:
                return RevertResult(sorted(files), bool(files))
            trailer = exploration_trailer(exploration_id)
            commit: str | None = None
            committed: set[str] = set()
            if own := self._commits.find(trailer):
                # others hold what a person has not committed yet
                paths = self._commits.list_paths(trailer)
                files |= self._restored_earlier(plan, self._commits, paths)
                committed = {path for path in files if self._layout.locate(path) in paths}
                subject = f"Revert exploration {exploration_id}"
                message = revert_message(subject, own.sha, exploration_id)
                located = sorted(map(self._layout.locate, committed))
                commit = self._commits.commit(message, located) if located else None
            left = tuple(path for path in sorted(files - committed) if self._is_changed(path))
        return RevertResult(sorted(files), bool(files), commit=commit, uncommitted=left)

    def _is_changed(self, path: str) -> bool:
        return self._commits is not None and self._commits.is_changed(self._layout.locate(path))

    def _restored_earlier(
        self,
        plan: Callable[[Tree], Mapping[str, str | None]],
        commits: GitFolder,
        paths: Container[str],
    ) -> set[str]:
        """Files that an interrupted attempt restored and did not commit."""
        tree = FolderTree(self._root, self._layout)
        try:
            still = plan(_CommittedTree(commits.tree(), paths, tree, self._layout))
        except ConflictError:
            return set()  # somebody else has changed them since
        return {
            path
            for path, text in still.items()
            if self._layout.locate(path) in paths and _is_same(tree.read_text(path), text)
        }

    def _restore(self, path: str, text: str | None, mode: int) -> None:
        located = self._layout.locate(path)
        if text is not None:
            write_text(self._root, located, text, mode=mode)
            return
        remove_text(self._root, located)


def remove_text(root: Path, path: str) -> None:
    try:
        remove_file(root, path)
    except LinkError as error:
        raise NotADocumentError(
            f"{path} is reached through a link, so it was left unchanged."
        ) from error
    except OSError as error:
        raise ExternalError(f"{path} cannot be removed: {error.strerror}.") from error


@dataclass(frozen=True, slots=True)
class _CommittedTree:
    """The last commit, of the files in `paths`. Others were never committed by the exploration, and are read
    as they are in the folder: what the commit has of them says nothing about its changes."""

    commit: Tree
    paths: Container[str]
    folder: Tree
    layout: Layout

    def read_text(self, path: str) -> str | None:
        located = self.layout.locate(path)
        if located in self.paths:
            return self.commit.read_text(located)
        return self.folder.read_text(path)

    def names(self, path: str) -> Sequence[str]:
        return self.commit.names(self.layout.locate(path) or ".")


def _is_same(one: str | None, other: str | None) -> bool:
    """Whether two texts differ at most in their line endings, or both are missing."""
    if one is None or other is None:
        return one is other
    return one.replace("\r\n", "\n") == other.replace("\r\n", "\n")
