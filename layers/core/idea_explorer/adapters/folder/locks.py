"""Which runs a process of this machine is at work on."""

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.ids import ExplorationId


class ProcessLock:
    """A lock for each process at work, each in a file of its own. SQLite's lock works on every system
    and ends with its process, however that ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def held(self, exploration_id: ExplorationId) -> Iterator[None]:
        path = self._folder / f"{exploration_id}.{uuid.uuid4().hex}.lock"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = _locked(path)
        except (OSError, sqlite3.Error) as error:
            raise ExternalError(f"{path} cannot be locked: {error}.") from error
        try:
            yield
        finally:
            lock.close()
            path.unlink(missing_ok=True)

    def is_at_work(self, exploration_id: ExplorationId) -> bool:
        return any(_is_held(path) for path in self._folder.glob(f"{exploration_id}.*.lock"))


def _is_held(path: Path) -> bool:
    try:
        _locked(path).close()
    except sqlite3.Error:
        return True
    path.unlink(missing_ok=True)
    return False


def _locked(path: Path) -> sqlite3.Connection:
    lock = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        lock.close()
        raise
    return lock
