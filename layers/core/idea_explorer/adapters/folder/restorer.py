"""Restores files of a folder, with a commit if the exploration's changes were committed."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from idea_explorer.adapters.files import replace_file
from idea_explorer.adapters.folder.locks import lock_folder
from idea_explorer.adapters.folder.publisher import Commits, FolderTree
from idea_explorer.adapters.trailers import exploration_trailer, revert_message
from idea_explorer.domain.errors import ConflictError, ExternalError, NotADocumentError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Tree, Undone


class FolderRestorer:
    """Follows no links, and holds the lock that publishers to the same folder take."""

    def __init__(self, root: Path, lock: Path, commits: Commits | None = None) -> None:
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
        self, plan: Callable[[Tree], Mapping[str, str | None]], commits: Commits
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
        folders = [self._root / parent for parent in Path(path).parents if parent.name]
        if any(place.is_symlink() for place in (target, *folders)):
            raise NotADocumentError(f"{path} is reached through a link, so it was left unchanged.")
        if text is not None:
            replace_file(target, text.encode("utf-8"))
            return
        try:
            target.unlink(missing_ok=True)
        except OSError as error:
            raise ExternalError(f"{path} cannot be removed: {error.strerror}.") from error
        with suppress(OSError):  # a folder with other files in it stays
            for folder in folders:
                folder.rmdir()


def _is_same(one: str | None, other: str | None) -> bool:
    """Whether two texts differ at most in their line endings, or both are missing."""
    if one is None or other is None:
        return one is other
    return one.replace("\r\n", "\n") == other.replace("\r\n", "\n")
