"""Locks between the processes of this machine.

SQLite's exclusive lock works on every system, and ends with its process however that ends.
"""

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from idea_explorer.adapters.safe_files import make_private_file, make_private_folder
from idea_explorer.domain.errors import ExternalError, UnavailableError

FOLDER_LOCK_SECONDS = 30.0
LOCK_SECONDS = 1.0  # another process may be looking whether the run is locked


class ProcessLock:
    """Shows which explorations a process of this machine is running, and which workers are alive; each
    process has its own file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        path = self._folder / f"{name}.{uuid.uuid4().hex}.lock"
        try:
            with lock_folder(path, LOCK_SECONDS):
                yield
        finally:
            path.unlink(missing_ok=True)

    def is_at_work(self, name: str) -> bool:
        return any(_is_locked(path) for path in self._folder.glob(f"{name}.*.lock"))

    def remove_unheld(self, pattern: str, *, before: float) -> None:
        """Remove the files of processes that were killed. One that is newer than `before` stays: its process
        may be about to lock it."""
        for path in self._folder.glob(f"{pattern}.lock"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    _is_locked(path)


def _is_locked(path: Path) -> bool:
    try:
        _connect(path, 0.0).close()
    except sqlite3.Error:
        return True
    path.unlink(missing_ok=True)
    return False


@contextmanager
def lock_folder(path: Path, seconds: float = FOLDER_LOCK_SECONDS) -> Iterator[None]:
    """Let one publisher at a time write to a folder; raises UnavailableError."""
    try:
        if not path.parent.is_dir():
            make_private_folder(path.parent)
        make_private_file(path)
        lock = _connect(path, seconds)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise ExternalError(f"{path} cannot be locked: {error}.") from error
        raise UnavailableError(
            "Another process is publishing to this folder.", hint="Try again."
        ) from error
    except (OSError, sqlite3.Error) as error:
        raise ExternalError(f"{path} cannot be locked: {error}.") from error
    try:
        yield
    finally:
        lock.close()


def _connect(path: Path, seconds: float) -> sqlite3.Connection:
    lock = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        lock.close()
        raise
    return lock
