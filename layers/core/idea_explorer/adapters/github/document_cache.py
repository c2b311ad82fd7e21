"""The documents of a repository at one commit, cached on disk between runs."""

import hashlib
import json
import os
import stat
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from idea_explorer import __version__
from idea_explorer.adapters.files import DiskCache

MAX_COMMITS = 8  # only the head of a repository is asked for, so older ones are rarely needed again
MAX_BYTES = 20_000_000  # of one commit, compressed; a function has 512 MB of disk


class DocumentCache:
    """What cannot be read or written counts as missing. The documents of a commit never change."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir()) / f"idea-explorer-{_user()}"
        self._files = DiskCache(
            self._folder, ".json.z", max_files=MAX_COMMITS, max_bytes=MAX_COMMITS * MAX_BYTES
        )

    def get(self, name: str) -> list[tuple[str, str]] | None:
        try:
            if not self._is_private():
                return None
            rows = json.loads(zlib.decompress(self._files.path(_hash(name)).read_bytes()))
        except (OSError, ValueError, zlib.error):
            return None
        return [(path, text) for path, text in rows]

    def put(self, name: str, documents: Sequence[tuple[str, str]]) -> None:
        data = zlib.compress(json.dumps(documents).encode("utf-8", "surrogatepass"), 1)
        if len(data) > MAX_BYTES:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_private():
                return
            with self._files.new_file() as (part, file):
                file.write(data)
                file.flush()
                self._files.add(part, _hash(name))
        except OSError:
            return

    def _is_private(self) -> bool:
        """Whether only we can have written to the folder: its default name is easy to guess."""
        info = self._folder.lstat()
        if not stat.S_ISDIR(info.st_mode):
            return False
        return os.name == "nt" or (info.st_uid == os.getuid() and not info.st_mode & 0o022)


def _hash(name: str) -> str:
    return hashlib.sha256(f"{__version__}\n{name}".encode()).hexdigest()[:40]


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
