"""Publishing to a folder: plain files, and a commit if the folder is a git work tree."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from idea_explorer.adapters.files import replace_file
from idea_explorer.adapters.folder.git import Committed, GitFolder
from idea_explorer.adapters.folder.locks import lock_folder
from idea_explorer.adapters.trailers import run_trailers
from idea_explorer.domain.errors import (
    ConfigurationError,
    ContentMismatchError,
    DocumentTooLargeError,
    ExternalError,
    NotADocumentError,
)
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.publication import MAX_REWRITTEN_BYTES, is_document
from idea_explorer.ports import Published
from idea_explorer.ports.writing import BuildChange


class FolderPublisher:
    """Replaces each file atomically, the log first, so that a run that crashed recognises its own files."""

    def __init__(self, root: Path, lock: Path, commits: GitFolder | None = None) -> None:
        self._root = root
        self._lock = lock
        self._commits = commits

    def check(self) -> None:
        """The folder for reports may be missing; then its parent must be writable."""
        ideas = self._root / RESEARCH_ROOT
        folder = ideas if ideas.exists() else self._root
        if not folder.is_dir():
            raise ConfigurationError(
                f"{folder} is not a folder, so no report can be written there.",
                hint="Move it away, or name another folder with --research.",
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigurationError(
                f"{folder} may not be written to.",
                hint="Give yourself write permission, or name another folder with --research.",
            )

    def publish(
        self, exploration_id: ExplorationId, run: int, build: BuildChange, *, since: datetime
    ) -> Published:
        trailers = run_trailers(exploration_id, run)
        with lock_folder(self._lock):
            if self._commits and (earlier := self._commits.find(trailers)):
                return self._read_back(earlier)
            change = build(FolderTree(self._root))
            for path, text in change.files.items():
                replace_file(self._root / path, text.encode("utf-8"))
            commit: str | None = None
            if self._commits:
                message = f"{change.message}\n\n{trailers}"
                commit = self._commits.commit(message, list(change.files))
        return Published(
            document=change.path,
            text=change.files[change.path],
            path=str(self._root / change.path),
            commit=commit,
            notice=change.notice,
        )

    def _read_back(self, earlier: Committed) -> Published:
        """What an earlier attempt published, as it is now."""
        document = next((path for path in earlier.paths if is_document(path)), "")
        text = FolderTree(self._root).read_text(document) if document else None
        path = str(self._root / document)
        return Published(document=document, text=text or "", path=path, commit=earlier.sha)


class FolderTree:
    """The folder's files. Links are not followed, so nothing outside is ever read or written."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read_text(self, path: str) -> str | None:
        target = self._root / path
        if not _has_plain_parents(self._root, target):
            return None
        if target.is_symlink() or target.is_dir():
            raise NotADocumentError(f"{path} is not a file, so nothing was written.")
        try:
            if (size := target.stat().st_size) > MAX_REWRITTEN_BYTES:
                raise DocumentTooLargeError(
                    f"{path} has {size:,} bytes, too many to append to; it was left unchanged."
                )
            return target.read_bytes().decode("utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise ContentMismatchError(
                f"{path} is not UTF-8 text; it was left unchanged."
            ) from error
        except OSError as error:
            raise ExternalError(f"{path} cannot be read: {error.strerror}.") from error

    def names(self, path: str) -> Sequence[str]:
        folder = self._root / path
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise NotADocumentError(f"{path} is not a folder, so nothing was written.")
        return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def has_link(root: Path, path: str) -> bool:
    """Whether a file, or a folder between it and the root, is a link, which could lead elsewhere."""
    parts = (Path(path), *(parent for parent in Path(path).parents if parent.name))
    return any((root / part).is_symlink() for part in parts)


def _has_plain_parents(root: Path, target: Path) -> bool:
    """Whether every folder above the target is a folder and not a link."""
    parents = [root / parent for parent in target.relative_to(root).parents if parent.name]
    return all(folder.is_dir() and not folder.is_symlink() for folder in parents)
