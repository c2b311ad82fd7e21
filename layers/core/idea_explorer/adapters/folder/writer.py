"""Writes approved changes to a folder, and restores what an exploration has written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from idea_explorer.adapters.folder.git import GitFolder
from idea_explorer.adapters.folder.layout import Layout
from idea_explorer.adapters.folder.locks import lock_folder
from idea_explorer.adapters.folder.publisher import FolderTree, LockedFolder, write_text
from idea_explorer.adapters.safe_files import LinkError, read_file, remove_file
from idea_explorer.adapters.trailers import exploration_trailer, revert_message
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.errors import (
    BaseMovedError,
    ConflictError,
    ExternalError,
    NotADocumentError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.publication import MAX_REWRITTEN_BYTES
from idea_explorer.ports import Tree, Undone, WrittenAt


class FolderWriter:
    """Replaces a file atomically, and only if it has not changed since the proposal was made."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        proposal = approval.proposal
        content = approval.approved_content
        current = self._read(proposal.path)
        # otherwise an earlier attempt has written it already
        if current != content.encode("utf-8"):
            current_sha = None if current is None else blob_sha(current)
            if current_sha != proposal.base_sha:
                raise BaseMovedError(
                    f"{proposal.path} has changed since the proposal was made, so nothing was written.",
                    hint="Read it again and make a new proposal.",
                )
            write_text(self._root, proposal.path, content)
        return WrittenAt(commit=None, branch=None)

    def _read(self, path: str) -> bytes | None:
        try:
            return read_file(self._root, path, MAX_REWRITTEN_BYTES)
        except FileNotFoundError:
            return None
        except LinkError as error:
            raise BaseMovedError(f"{path} has become a link, so nothing was written.") from error
        except OSError as error:
            raise BaseMovedError(f"{path} cannot be read: {error.strerror}.") from error


class FolderRestorer(LockedFolder):
    """Follows no links, and holds the lock that publishers to the same folder take."""

    def restore(
        self, exploration_id: ExplorationId, plan: Callable[[Tree], Mapping[str, str | None]]
    ) -> Undone:
        with lock_folder(self._lock):
            planned = plan(FolderTree(self._root, self._layout))
            for path, text in planned.items():
                self._restore(path, text)
            files = set(planned)
            commit: str | None = None
            own = self._commits and self._commits.find(exploration_trailer(exploration_id))
            if self._commits and own:
                files |= self._restored_earlier(plan, self._commits)
                subject = f"Revert exploration {exploration_id}"
                message = revert_message(subject, own.sha, exploration_id)
                located = sorted(map(self._layout.locate, files))
                commit = self._commits.commit(message, located) if files else None
        return Undone(sorted(files), bool(files), commit=commit)

    def _restored_earlier(
        self, plan: Callable[[Tree], Mapping[str, str | None]], commits: GitFolder
    ) -> set[str]:
        """Files that an interrupted attempt restored and did not commit."""
        try:
            still = plan(_Located(commits.tree(), self._layout))
        except ConflictError:
            return set()  # somebody else has changed them since
        tree = FolderTree(self._root, self._layout)
        return {path for path, text in still.items() if _is_same(tree.read_text(path), text)}

    def _restore(self, path: str, text: str | None) -> None:
        located = self._layout.locate(path)
        if text is not None:
            write_text(self._root, located, text)
            return
        try:
            remove_file(self._root, located)
        except LinkError as error:
            raise NotADocumentError(
                f"{path} is reached through a link, so it was left unchanged."
            ) from error
        except OSError as error:
            raise ExternalError(f"{path} cannot be removed: {error.strerror}.") from error


@dataclass(frozen=True, slots=True)
class _Located:
    """A tree whose files are where the layout says."""

    inner: Tree
    layout: Layout

    def read_text(self, path: str) -> str | None:
        return self.inner.read_text(self.layout.locate(path))

    def names(self, path: str) -> Sequence[str]:
        return self.inner.names(self.layout.locate(path) or ".")


def _is_same(one: str | None, other: str | None) -> bool:
    """Whether two texts differ at most in their line endings, or both are missing."""
    if one is None or other is None:
        return one is other
    return one.replace("\r\n", "\n") == other.replace("\r\n", "\n")
