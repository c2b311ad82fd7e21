"""Writes approved changes to a folder, and restores what an exploration has written."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from idea_explorer.adapters.files import replace_file
from idea_explorer.adapters.folder.git import GitFolder
from idea_explorer.adapters.folder.locks import lock_folder
from idea_explorer.adapters.folder.publisher import FolderTree, has_link
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
from idea_explorer.ports import Tree, Undone, WrittenAt


class FolderWriter:
    """Replaces a file atomically, and only if it has not changed since the proposal was made."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        proposal = approval.proposal
        content = approval.approved_content.encode("utf-8")
        if has_link(self._root, proposal.path):
            raise BaseMovedError(f"{proposal.path} has become a link, so nothing was written.")
        target = self._root / proposal.path
        current = self._read(target)
        if current != content:  # otherwise an earlier attempt has written it already
            current_sha = None if current is None else blob_sha(current)
            if current_sha != proposal.base_sha:
                raise BaseMovedError(
                    f"{proposal.path} has changed since the proposal was made, so nothing was written.",
                    hint="Read it again and make a new proposal.",
                )
            replace_file(target, content)
        return WrittenAt(commit=None, branch=None)

    def _read(self, target: Path) -> bytes | None:
        try:
            return target.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BaseMovedError(f"{target.name} cannot be read: {error.strerror}.") from error


class FolderRestorer:
    """Follows no links, and holds the lock that publishers to the same folder take."""

    def __init__(self, root: Path, lock: Path, commits: GitFolder | None = None) -> None:
        self._root = root
        self._lock = lock
        self._commits = commits

    def restore(
        self, exploration_id: ExplorationId, plan: Callable[[Tree], Mapping[str, str | None]]
    ) -> Undone:
        with lock_folder(self._lock):
            planned = plan(FolderTree(self._root))
            for path, text in planned.items():
                self._restore(path, text)
            files = set(planned)
            commit: str | None = None
            own = self._commits and self._commits.find(exploration_trailer(exploration_id))
            if self._commits and own:
                files |= self._restored_earlier(plan, self._commits)
                subject = f"Revert exploration {exploration_id}"
                message = revert_message(subject, own.sha, exploration_id)
                commit = self._commits.commit(message, sorted(files)) if files else None
        return Undone(sorted(files), bool(files), commit=commit)

    def _restored_earlier(
        self, plan: Callable[[Tree], Mapping[str, str | None]], commits: GitFolder
    ) -> set[str]:
        """Files that an interrupted attempt restored and did not commit."""
        try:
            still = plan(commits.tree())
        except ConflictError:
            return set()  # somebody else has changed them since
        tree = FolderTree(self._root)
        return {path for path, text in still.items() if _is_same(tree.read_text(path), text)}

    def _restore(self, path: str, text: str | None) -> None:
        target = self._root / path
        if has_link(self._root, path):
            raise NotADocumentError(f"{path} is reached through a link, so it was left unchanged.")
        if text is not None:
            replace_file(target, text.encode("utf-8"))
            return
        try:
            target.unlink(missing_ok=True)
        except OSError as error:
            raise ExternalError(f"{path} cannot be removed: {error.strerror}.") from error
        with suppress(OSError):  # a folder with other files in it stays
            for parent in Path(path).parents:
                if parent.name:
                    (self._root / parent).rmdir()


def _is_same(one: str | None, other: str | None) -> bool:
    """Whether two texts differ at most in their line endings, or both are missing."""
    if one is None or other is None:
        return one is other
    return one.replace("\r\n", "\n") == other.replace("\r\n", "\n")
