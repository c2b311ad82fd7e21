"""Snapshots of repositories, kept on disk by sha: the most recently used ones.

Where workers share a store besides, one of them fetches a commit and all others find it there.
"""

import errno
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from idea_explorer.adapters.snapshots.packs import Item, Pack, write_pack
from idea_explorer.adapters.snapshots.tarballs import tarball_items
from idea_explorer.adapters.snapshots.worktrees import folder_items
from idea_explorer.domain.errors import InvalidRequestError, RejectedError
from idea_explorer.domain.limits import CodeLimits

_WRITING_SECONDS = (
    3_600  # what is still half-written after this long was left by a process that died
)
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class SharedPacks(Protocol):
    """Packs of one repository that others have made. It never fails: it has them or has them not.

    `keep` takes the file over, and closes it when it is done with it.
    """

    def fetch(self, name: str, file: BinaryIO) -> bool: ...

    def keep(self, name: str, file: BinaryIO) -> None: ...


class Snapshots:
    """Safe to share between threads and processes: a pack appears under its name only when it is whole."""

    def __init__(self, folder: Path, limits: CodeLimits | None = None) -> None:
        self._folder = folder
        self._limits = limits or CodeLimits()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def of_commit(
        self,
        sha: str,
        download: Callable[[], AbstractContextManager[BinaryIO]],
        shared: SharedPacks | None = None,
    ) -> Pack:
        """The repository at a commit; its gzipped tarball is fetched only where it is not kept yet."""
        if not _SHA.fullmatch(sha):
            raise InvalidRequestError(f"Not a commit: {sha[:80]!r}")
        if kept := self._open(sha) or (shared and self._fetched(sha, shared)):
            return kept
        with _room(), download() as compressed:
            made = self._keep(tarball_items(compressed, sha, self._limits), sha)
        if shared:
            with suppress(FileNotFoundError):
                shared.keep(self._file(sha).name, self._file(sha).open("rb"))
        return made

    def of_folder(self, folder: Path) -> Pack:
        """A local folder as it is now, changes that are not committed included."""
        with _room():
            return self._keep(folder_items(folder, self._limits), None)

    def _keep(self, items: Iterable[Item], sha: str | None) -> Pack:
        with self._part() as (part, file):
            content = write_pack(file, items, self._limits)
            file.flush()
            return self._kept(part, sha or content)

    def _fetched(self, sha: str, shared: SharedPacks) -> Pack | None:
        with self._part() as (part, file):
            if not shared.fetch(self._file(sha).name, file):
                return None
            file.flush()
            with suppress(ValueError, zlib.error):  # damaged: then it is made anew
                return self._kept(part, sha)
        return None

    @contextmanager
    def _part(self) -> Iterator[tuple[Path, BinaryIO]]:
        """A file to write a pack into, gone afterwards unless it was kept."""
        descriptor, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
        part = Path(name)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                yield part, file
        finally:
            part.unlink(missing_ok=True)

    def _kept(self, part: Path, sha: str) -> Pack:
        pack = Pack(part, sha)
        part.replace(self._file(sha))
        self._forget_old()
        return pack

    def _open(self, sha: str) -> Pack | None:
        file = self._file(sha)
        with suppress(FileNotFoundError, ValueError, zlib.error):
            pack = Pack(file, sha)
            os.utime(file)
            return pack
        return None

    def _file(self, sha: str) -> Path:
        # what a pack holds depends on the size limit, so that is part of its name
        return self._folder / f"{sha}-{self._limits.max_file_bytes}.pack"

    def _forget_old(self) -> None:
        packs = sorted(self._folder.glob("*.pack"), key=_last_used, reverse=True)
        now = max(map(_last_used, packs), default=0.0)
        given_up = [
            part
            for part in self._folder.glob("*.part")
            if _last_used(part) < now - _WRITING_SECONDS
        ]
        for old in [*self._too_many(packs), *given_up]:
            old.unlink(missing_ok=True)

    def _too_many(self, packs: list[Path]) -> Iterator[Path]:
        """Those beyond the limits, of which the first is in use."""
        size = 0
        for number, pack in enumerate(packs):
            with suppress(FileNotFoundError):  # another process was faster
                size += pack.stat().st_size
            too_large = size > self._limits.max_kept_bytes
            if number and (too_large or number >= self._limits.kept_snapshots):
                yield pack


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise RejectedError(
            "There is no room left on disk for the repository's files.",
            hint="Name a smaller repository.",
        ) from error


def _last_used(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0
