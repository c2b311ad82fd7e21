"""Publishing into a folder: plain files, and a commit where the folder is a git work tree."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from idea_explorer.domain.errors import (
    ConfigurationError,
    ContentMismatchError,
    DocumentTooLargeError,
    ExternalError,
    NotADocumentError,
    UnavailableError,
)
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.publication import MAX_REWRITTEN_BYTES, is_document
from idea_explorer.ports import Change, Published, Tree

LOCK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Committed:
    sha: str
    paths: Sequence[str]


class Commits(Protocol):
    """The git history of a folder."""

    def find(self, trailers: str) -> Committed | None:
        """The commit that carries these trailers."""
        ...

    def commit(self, message: str, paths: Sequence[str]) -> str: ...

    def tree(self) -> Tree:
        """The folder as it was committed last."""
        ...


class FolderPublisher:
    """Writes each file whole or not at all, the log first: a run that was cut off finds its own again."""

    def __init__(self, root: Path, lock: Path, commits: Commits | None = None) -> None:
        self._root = root
        self._lock = lock
        self._commits = commits

    def check(self) -> None:
        """The folder that reports go to may be missing; what stands in its place must let us write."""
        ideas = self._root / RESEARCH_ROOT
        place = ideas if ideas.exists() else self._root
        if not place.is_dir():
            raise ConfigurationError(
                f"{place} is not a folder, so no report can be written there.",
                hint="Move it away, or name another folder with --research.",
            )
        if not os.access(place, os.W_OK | os.X_OK):
            raise ConfigurationError(
                f"{place} may not be written to.",
                hint="Give yourself the right to, or name another folder with --research.",
            )

    def publish(
        self,
        exploration_id: ExplorationId,
        run: int,
        build: Callable[[Tree], Change],
        *,
        since: datetime,
    ) -> Published:
        trailers = f"Exploration-Id: {exploration_id}\nExploration-Run: {run}"
        with alone(self._lock):
            if self._commits and (before := self._commits.find(trailers)):
                return self._found(before)
            change = build(FolderTree(self._root))
            for path, text in change.files.items():
                _write_whole(self._root, path, text)
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

    def _found(self, before: Committed) -> Published:
        """What an earlier attempt has written, as it is now."""
        document = next((path for path in before.paths if is_document(path)), "")
        text = FolderTree(self._root).read_text(document) if document else None
        path = str(self._root / document)
        return Published(document=document, text=text or "", path=path, commit=before.sha)


class FolderTree:
    """The folder's files. Links are not followed: nothing outside is read or written through one."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read_text(self, path: str) -> str | None:
        target = self._root / path
        if not _is_reached(self._root, target):
            return None
        if target.is_symlink() or target.is_dir():
            raise NotADocumentError(f"{path} is not a file, so nothing was written.")
        try:
            if (size := target.stat().st_size) > MAX_REWRITTEN_BYTES:
                raise DocumentTooLargeError(
                    f"{path} has {size:,} bytes, too many to add to it; it was left as it is."
                )
            return target.read_bytes().decode("utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise ContentMismatchError(
                f"{path} is not UTF-8 text; it was left as it is."
            ) from error
        except OSError as error:
            raise ExternalError(f"{path} cannot be read: {error.strerror}.") from error

    def names(self, path: str) -> Sequence[str]:
        folder = self._root / path
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise NotADocumentError(f"{path} is not a folder, so nothing was written.")
        return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def _is_reached(root: Path, target: Path) -> bool:
    """Whether all folders on the way are folders and not links."""
    way = [root / parent for parent in target.relative_to(root).parents if parent.name]
    return all(folder.is_dir() and not folder.is_symlink() for folder in way)


def _write_whole(root: Path, path: str, text: str) -> None:
    """Write beside the target and rename: a reader or a crash never meets half a file."""
    target = root / path
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8", newline="")
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ExternalError(
            f"{target} cannot be written: {error.strerror}.", hint="Check the folder's permissions."
        ) from error


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """One publisher at a time. SQLite's lock works on every system and ends with its process."""
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(lock, timeout=LOCK_SECONDS, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise ExternalError(f"{lock} cannot be opened: {error}.") from error
    try:
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise UnavailableError(
                "Another publication into this folder does not end.", hint="Try again."
            ) from error
        yield
    finally:
        db.close()
