"""Snapshots in S3, by repository and commit, for all workers of a deployment."""

import gzip
import shutil
import tempfile
import zlib
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import BinaryIO

from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.domain.errors import ExplorerError, MissingError
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
