"""Snapshots by repository and commit: on disk, where the most recently used ones are kept, and in S3.

Workers that share a bucket need to fetch each commit from GitHub only once.
"""

import errno
import gzip
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.adapters.files import DiskCache
from idea_explorer.adapters.safe_files import make_private_folder
from idea_explorer.adapters.snapshots.packs import Item, Pack, write_pack
from idea_explorer.adapters.snapshots.tarballs import read_tarball
from idea_explorer.adapters.snapshots.worktrees import read_folder
from idea_explorer.domain.errors import (
    ExplorerError,
    InvalidRequestError,
    MissingError,
    RejectedError,
)
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.text import hash_text
from idea_explorer.ports import Log

PREFIX = "snapshots"  # template.yaml expires the objects below it
MAX_BYTES = 104_857_600  # 100 MB compressed; beyond that GitHub is about as fast
SPOOLED_BYTES = 4_000_000
FINISH_SECONDS = 5.0  # most uploads end long before the run does; other workers can redo the rest


class S3Packs:
    """The packs of one repository. A commit never changes, and neither does its pack.

    A pack that cannot be read or written counts as missing: a run neither fails because of a cache nor
    waits for it. Packs are uploaded in the background; `finish` waits for them before Lambda freezes the
    process.
    """

    def __init__(self, bucket: Bucket, repository: str, log: Log | None = None) -> None:
        self._bucket = bucket
        self._folder = f"{PREFIX}/{repository.lower()}"
        self._log = log
        self._uploader = ThreadPoolExecutor(1)
        self._uploads: list[Future[None]] = []

    def fetch(self, name: str, file: BinaryIO) -> bool:
        """Write a pack's bytes to a file; false if it is missing or damaged."""
        try:
            with self._bucket.open(self._key(name)) as body, gzip.GzipFile(fileobj=body) as pack:
                shutil.copyfileobj(pack, file)
        except MissingError:
            return False
        except (ExplorerError, OSError, EOFError, zlib.error) as error:
            self._warn("snapshot_not_fetched", error)
            return False
        return True

    def keep(self, name: str, file: BinaryIO) -> None:
        """Takes ownership of the file and closes it."""
        self._uploads.append(self._uploader.submit(self._upload, name, file))

    def finish(self) -> None:
        """Wait for the uploads, but not for long."""
        wait(self._uploads, FINISH_SECONDS)

    def _upload(self, name: str, file: BinaryIO) -> None:
        try:
            with file, tempfile.SpooledTemporaryFile(SPOOLED_BYTES) as compressed:
                # without time and name in the header, the same pack always gives the same object
                with gzip.GzipFile("", "wb", 1, compressed, mtime=0) as packing:
                    shutil.copyfileobj(file, packing)
                if compressed.tell() <= MAX_BYTES:
                    compressed.seek(0)
                    self._bucket.put(self._key(name), compressed, "application/gzip")
        except Exception as error:  # noqa: BLE001  nobody waits for the result of this thread
            self._warn("snapshot_not_kept", error)

    def _key(self, name: str) -> str:
        return f"{self._folder}/{name}.gz"

    def _warn(self, message: str, error: Exception) -> None:
        if self._log:
            self._log.warning(message, errorType=type(error).__name__, error=str(error))


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class Snapshots:
    """Safe to share between threads and processes."""

    def __init__(self, folder: Path, limits: CodeLimits | None = None) -> None:
        self._limits = limits or CodeLimits()
        make_private_folder(folder)
        self._files = DiskCache(
            folder,
            ".pack",
            max_files=self._limits.kept_snapshots,
            max_bytes=self._limits.max_kept_bytes,
        )

    def of_commit(
        self,
        repository: str,
        sha: str,
        download: Callable[[], AbstractContextManager[BinaryIO]],
        shared: S3Packs | None = None,
    ) -> Pack:
        """The repository at a commit; its gzipped tarball is downloaded only if no pack of it is at hand."""
        if not _SHA.fullmatch(sha):
            raise InvalidRequestError(f"Not a commit: {sha[:80]!r}")
        # a fork has the commits of its origin, and not everybody may read both
        key = f"{sha}-{hash_text(repository.lower())[:16]}"
        if pack := self._open(key, sha) or (shared and self._fetch(key, sha, shared)):
            return pack
        with _map_full_disk(), download() as compressed:
            pack = self._write(read_tarball(compressed, sha, self._limits), key, sha)
        if shared:
            with suppress(FileNotFoundError):
                shared.keep(self._path(sha).name, self._path(key).open("rb"))
        return pack

    def of_folder(self, folder: Path) -> Pack:
        """A local folder as it is now, including uncommitted changes."""
        with _map_full_disk():
            return self._write(read_folder(folder, self._limits))

    def _write(self, items: Iterable[Item], key: str = "", sha: str = "") -> Pack:
        """Without a key and a commit, under the hash of the content."""
        with self._files.new_file() as (part, file):
            content = write_pack(file, items, self._limits)
            file.flush()
            return self._add(part, key or content, sha or content)

    def _fetch(self, key: str, sha: str, shared: S3Packs) -> Pack | None:
        with self._files.new_file() as (part, file):
            if not shared.fetch(self._path(sha).name, file):
                return None
            file.flush()
            with suppress(ValueError, zlib.error):  # damaged: the caller makes a new one
                return self._add(part, key, sha)
        return None

    def _add(self, part: Path, key: str, sha: str) -> Pack:
        pack = Pack(part, sha)
        self._files.add(part, self._name(key))
        return pack

    def _open(self, key: str, sha: str) -> Pack | None:
        path = self._path(key)
        with suppress(FileNotFoundError, ValueError, zlib.error):
            pack = Pack(path, sha)
            os.utime(path)
            return pack
        return None

    def _path(self, key: str) -> Path:
        return self._files.path(self._name(key))

    def _name(self, key: str) -> str:
        # the content of a pack depends on the size limit, so the limit is part of the name
        return f"{key}-{self._limits.max_file_bytes}"


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
