"""Files on this machine that are cached until they are evicted."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

PRIVATE_FOLDER = 0o700
ABANDONED_SECONDS = 3_600  # a partial file this old was left behind by a process that died


class DiskCache:
    """Files by name in one folder, of which the most recently used are kept.

    A file appears under its name only when it is complete, so the folder can be shared between threads
    and processes. The newest file stays even if it exceeds `max_bytes` by itself.
    """

    def __init__(self, folder: Path, suffix: str, *, max_files: int, max_bytes: int) -> None:
        self._folder = folder
        self._suffix = suffix
        self._max_files = max_files
        self._max_bytes = max_bytes

    def path(self, name: str) -> Path:
        return self._folder / f"{name}{self._suffix}"

    @contextmanager
    def new_file(self) -> Iterator[tuple[Path, BinaryIO]]:
        """A file to write to, deleted afterwards unless it was passed to `add`."""
        descriptor, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
        part = Path(name)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                yield part, file
        finally:
            part.unlink(missing_ok=True)

    def add(self, part: Path, name: str) -> None:
        part.replace(self.path(name))
        self._evict()

    def _evict(self) -> None:
        files = sorted(self._folder.glob(f"*{self._suffix}"), key=_last_used, reverse=True)
        now = max(map(_last_used, files), default=0.0)
        abandoned = [
            part
            for part in self._folder.glob("*.part")
            if _last_used(part) < now - ABANDONED_SECONDS
        ]
        for old in [*self._beyond_limits(files), *abandoned]:
            old.unlink(missing_ok=True)

    def _beyond_limits(self, newest_first: list[Path]) -> Iterator[Path]:
        size = 0
        for number, file in enumerate(newest_first):
            with suppress(FileNotFoundError):  # another process was faster
                size += file.stat().st_size
            if number and (size > self._max_bytes or number >= self._max_files):
                yield file


def _last_used(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def find_private_folder() -> Path | None:
    """A folder for temporary files of this user; None if somebody else may have written to it: its name is
    easy to guess."""
    user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    folder = Path(tempfile.gettempdir()) / f"idea-explorer-{user}"
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        info = folder.lstat()
    except OSError:
        return None
    is_own = os.name == "nt" or (info.st_uid == os.getuid() and not info.st_mode & 0o022)
    return folder if stat.S_ISDIR(info.st_mode) and is_own else None
