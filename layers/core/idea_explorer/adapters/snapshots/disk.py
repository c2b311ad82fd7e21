"""Snapshots of repositories on disk, by commit; the most recently used ones are kept.

Workers that share a store besides need to fetch each commit from GitHub only once.
"""

import errno
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from idea_explorer.adapters.files import DiskCache
from idea_explorer.adapters.snapshots.packs import Item, Pack, write_pack
from idea_explorer.adapters.snapshots.tarballs import read_tarball
from idea_explorer.adapters.snapshots.worktrees import read_folder
from idea_explorer.domain.errors import InvalidRequestError, RejectedError
from idea_explorer.domain.limits import CodeLimits

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class SharedPacks(Protocol):
    """Packs of one repository that other workers have made. It never raises: a pack is there or not.

    `keep` takes ownership of the file and closes it.
    """

    def fetch(self, name: str, file: BinaryIO) -> bool: ...

    def keep(self, name: str, file: BinaryIO) -> None: ...


class Snapshots:
    """Safe to share between threads and processes."""

    def __init__(self, folder: Path, limits: CodeLimits | None = None) -> None:
        self._limits = limits or CodeLimits()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._files = DiskCache(
            folder,
            ".pack",
            max_files=self._limits.kept_snapshots,
            max_bytes=self._limits.max_kept_bytes,
        )

    def of_commit(
        self,
        sha: str,
        download: Callable[[], AbstractContextManager[BinaryIO]],
        shared: SharedPacks | None = None,
    ) -> Pack:
        """The repository at a commit; its gzipped tarball is downloaded only if no pack of it is at hand."""
        if not _SHA.fullmatch(sha):
            raise InvalidRequestError(f"Not a commit: {sha[:80]!r}")
        if pack := self._open(sha) or (shared and self._fetch(sha, shared)):
            return pack
        with _map_full_disk(), download() as compressed:
            pack = self._write(read_tarball(compressed, sha, self._limits), sha)
        if shared:
            with suppress(FileNotFoundError):
                shared.keep(self._path(sha).name, self._path(sha).open("rb"))
        return pack

    def of_folder(self, folder: Path) -> Pack:
        """A local folder as it is now, including uncommitted changes."""
        with _map_full_disk():
            return self._write(read_folder(folder, self._limits), None)

    def _write(self, items: Iterable[Item], sha: str | None) -> Pack:
        with self._files.new_file() as (part, file):
            content = write_pack(file, items, self._limits)
            file.flush()
            return self._add(part, sha or content)

    def _fetch(self, sha: str, shared: SharedPacks) -> Pack | None:
        with self._files.new_file() as (part, file):
            if not shared.fetch(self._path(sha).name, file):
                return None
            file.flush()
            with suppress(ValueError, zlib.error):  # damaged: the caller makes a new one
                return self._add(part, sha)
        return None

    def _add(self, part: Path, sha: str) -> Pack:
        pack = Pack(part, sha)
        self._files.add(part, self._name(sha))
        return pack

    def _open(self, sha: str) -> Pack | None:
        path = self._path(sha)
        with suppress(FileNotFoundError, ValueError, zlib.error):
            pack = Pack(path, sha)
            os.utime(path)
            return pack
        return None

    def _path(self, sha: str) -> Path:
        return self._files.path(self._name(sha))

    def _name(self, sha: str) -> str:
        # the content of a pack depends on the size limit, so the limit is part of the name
        return f"{sha}-{self._limits.max_file_bytes}"


@contextmanager
def _map_full_disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise RejectedError(
            "There is no room left on disk for the repository's files.",
            hint="Name a smaller repository.",
        ) from error
