"""Snapshots in S3, by repository and commit, for all workers of a deployment."""

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import IO, Any, BinaryIO

from idea_explorer.adapters.aws.client import aws_errors, code_of
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.ports import Log

SYSTEM = "S3"
PREFIX = "snapshots"  # template.yaml lets objects below it expire
MAX_BYTES = 104_857_600  # 100 MB packed; beyond it GitHub is about as fast
SPOOLED_BYTES = 4_000_000
FINISH_SECONDS = 5.0  # most are kept long before a run ends; others can make the rest anew
ABSENT = frozenset({"NoSuchKey", "404"})


class S3Packs:
    """The packs of one repository. A commit never changes, and neither does its pack.

    What cannot be read or written counts as not there: a cache is never what a run fails for, nor what
    it waits for. Packs are written beside it, and `finish` waits for them before a Lambda is frozen.
    """

    def __init__(
        self, bucket: str, connect: Callable[[], Any], repository: str, log: Log | None = None
    ) -> None:
        self._bucket = bucket
        self._connect = connect
        self._folder = f"{PREFIX}/{repository.lower()}"
        self._log = log
        self._writer = ThreadPoolExecutor(1)
        self._writing: list[Future[None]] = []

    def fetch(self, name: str, file: BinaryIO) -> bool:
        """Write a pack's bytes into a file; false where it is not there, or not whole."""
        try:
            body = self._body(name)
            if body is None:
                return False
            with gzip.GzipFile(fileobj=body, mode="rb") as unpacked, aws_errors(SYSTEM):
                shutil.copyfileobj(unpacked, file)
        except (ExplorerError, OSError, EOFError, zlib.error) as error:
            self._tell("snapshot_not_fetched", error)
            return False
        return True

    def keep(self, name: str, file: BinaryIO) -> None:
        self._writing.append(self._writer.submit(self._keep, name, file))

    def finish(self) -> None:
        """Wait for what is being written, but not for long."""
        wait(self._writing, FINISH_SECONDS)

    def _keep(self, name: str, file: BinaryIO) -> None:
        try:
            with file, tempfile.SpooledTemporaryFile(SPOOLED_BYTES) as packed:
                # no time and no name inside: the same pack is the same object
                with gzip.GzipFile("", "wb", 1, packed, mtime=0) as zipped:
                    shutil.copyfileobj(file, zipped)
                if packed.tell() <= MAX_BYTES:
                    packed.seek(0)
                    self._put(name, packed)
        except Exception as error:  # noqa: BLE001  nobody else would hear of it
            self._tell("snapshot_not_kept", error)

    def _body(self, name: str) -> Any:
        from botocore.exceptions import ClientError

        with aws_errors(SYSTEM):
            try:
                return self._connect().get_object(Bucket=self._bucket, Key=self._key(name))["Body"]
            except ClientError as error:
                if code_of(error) in ABSENT:
                    return None
                raise

    def _put(self, name: str, packed: IO[bytes]) -> None:
        with aws_errors(SYSTEM):
            self._connect().put_object(
                Bucket=self._bucket,
                Key=self._key(name),
                Body=packed,
                ContentType="application/gzip",
            )

    def _key(self, name: str) -> str:
        return f"{self._folder}/{name}.gz"

    def _tell(self, message: str, error: Exception) -> None:
        if self._log:
            self._log.warning(message, errorType=type(error).__name__, error=str(error))
