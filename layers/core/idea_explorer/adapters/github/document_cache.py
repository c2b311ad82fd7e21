"""Texts of a repository at one commit, kept on this machine's disk between runs."""

import hashlib
import json
import os
import stat
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from idea_explorer import __version__

KEPT = 8  # commits; a repository is asked for at its head, so older ones are rarely wanted again
MAX_BYTES = 20_000_000  # of one commit, packed; a function has 512 MB of disk


class DocumentCache:
    """What cannot be read or written here counts as not there. A commit's texts never change."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir()) / f"idea-explorer-{_user()}"

    def get(self, name: str) -> list[tuple[str, str]] | None:
        try:
            if not self._is_ours():
                return None
            rows = json.loads(zlib.decompress(self._file(name).read_bytes()))
        except (OSError, ValueError, zlib.error):
            return None
        return [(path, text) for path, text in rows]

    def put(self, name: str, documents: Sequence[tuple[str, str]]) -> None:
        packed = zlib.compress(json.dumps(documents).encode("utf-8", "surrogatepass"), 1)
        if len(packed) > MAX_BYTES:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return
            target = self._file(name)
            temporary = target.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_bytes(packed)
            temporary.replace(target)
            self._forget_oldest()
        except OSError:
            return

    def _file(self, name: str) -> Path:
        key = hashlib.sha256(f"{__version__}\n{name}".encode()).hexdigest()
        return self._folder / f"{key[:40]}.json.z"

    def _is_ours(self) -> bool:
        """Whether nobody else can have put anything into the folder, which has a name all can guess."""
        info = self._folder.lstat()
        if not stat.S_ISDIR(info.st_mode):
            return False
        return os.name == "nt" or (info.st_uid == os.getuid() and not info.st_mode & 0o022)

    def _forget_oldest(self) -> None:
        files = sorted(self._folder.glob("*.json.z"), key=lambda file: file.stat().st_mtime)
        for file in files[:-KEPT]:
            file.unlink(missing_ok=True)


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
