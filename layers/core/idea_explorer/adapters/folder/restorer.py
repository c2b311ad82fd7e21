"""Files of a folder put back to what they were, with a commit where their writing was one."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from idea_explorer.adapters.folder.publisher import Commits, FolderTree, alone
from idea_explorer.adapters.folder.writer import write_whole
from idea_explorer.domain.errors import ConflictError, ExternalError, NotADocumentError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Tree, Undone


class FolderRestorer:
    """Follows no links, and works while nobody publishes into the same folder."""

    def __init__(self, root: Path, lock: Path, commits: Commits | None = None) -> None:
        self._root = root
        self._lock = lock
        self._commits = commits

    def restore(
        self, exploration_id: ExplorationId, plan: Callable[[Tree], Mapping[str, str | None]]
    ) -> Undone:
        with alone(self._lock):
            planned = plan(FolderTree(self._root))
            for path, text in planned.items():
                self._put(path, text)
            files = set(planned)
            commit: str | None = None
            before = self._commits and self._commits.find(f"Exploration-Id: {exploration_id}")
            if self._commits and before:
                files |= self._put_before(plan, self._commits)
                message = (
                    f"Revert exploration {exploration_id}\n\nThis reverts commit {before.sha}.\n\n"
                    f"Reverts-Exploration: {exploration_id}"
                )
                commit = self._commits.commit(message, sorted(files)) if files else None
        return Undone(sorted(files), bool(files), commit=commit)

    def _put_before(
        self, plan: Callable[[Tree], Mapping[str, str | None]], commits: Commits
    ) -> set[str]:
        """What one that was broken off has put back and not committed."""
        try:
            still = plan(commits.tree())
        except ConflictError:
            return set()  # somebody else's, by now
        tree = FolderTree(self._root)
        return {path for path, text in still.items() if _is_same(tree.read_text(path), text)}

    def _put(self, path: str, text: str | None) -> None:
        target = self._root / path
        folders = [self._root / parent for parent in Path(path).parents if parent.name]
        if any(place.is_symlink() for place in (target, *folders)):
            raise NotADocumentError(f"{path} is reached through a link, so it was left as it is.")
        if text is not None:
            write_whole(target, text.encode("utf-8"))
            return
        try:
            target.unlink(missing_ok=True)
        except OSError as error:
            raise ExternalError(f"{path} cannot be removed: {error.strerror}.") from error
        with suppress(OSError):  # one that holds anything else stays
            for folder in folders:
                folder.rmdir()


def _is_same(one: str | None, other: str | None) -> bool:
    """Whether two texts are the same but for their line ends, or neither is there."""
    if one is None or other is None:
        return one is other
    return one.replace("\r\n", "\n") == other.replace("\r\n", "\n")
