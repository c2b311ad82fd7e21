"""Files of a folder put back to what they were, with a commit where their writing was one."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from idea_explorer.adapters.folder_publisher import Commits, FolderTree, alone
from idea_explorer.adapters.folder_writer import write_whole
from idea_explorer.domain.errors import ExternalError, NotADocumentError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Tree


class FolderRestorer:
    """Follows no links, and works while nobody publishes into the same folder."""

    def __init__(self, root: Path, lock: Path, commits: Commits | None = None) -> None:
        self._root = root
        self._lock = lock
        self._commits = commits

    def restore(
        self, exploration_id: ExplorationId, plan: Callable[[Tree], Mapping[str, str | None]]
    ) -> str | None:
        with alone(self._lock):
            planned = plan(FolderTree(self._root))
            for path, text in planned.items():
                self._put(path, text)
            before = self._commits and self._commits.find(f"Exploration-Id: {exploration_id}")
            if not planned or self._commits is None or not before:
                return None
            message = (
                f"Revert exploration {exploration_id}\n\nThis reverts commit {before.sha}.\n\n"
                f"Reverts-Exploration: {exploration_id}"
            )
            return self._commits.commit(message, list(planned))

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
