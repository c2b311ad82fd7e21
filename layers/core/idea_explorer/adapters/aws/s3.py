"""Objects in one S3 bucket: the only module that calls S3. A read sees every earlier write."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import IO, Any, TypeVar

from idea_explorer.adapters.aws.client import ExpectedError, map_aws_errors
from idea_explorer.domain.errors import MissingError

T = TypeVar("T")

SYSTEM = "S3"
READERS = 8  # a transcript has dozens of entries, which would take seconds one by one
PRESIGNED_SECONDS = 900
MISSING = frozenset({"NoSuchKey", "404"})
NOT_MODIFIED = frozenset({"304", "NotModified"})
OVERTAKEN = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})


class Bucket:
    """Reading an object that does not exist raises MissingError."""

    def __init__(self, name: str, connect: Callable[[], Any]) -> None:
        self._name = name
        self._connect = connect

    def put(self, key: str, data: bytes | IO[bytes], content_type: str, **condition: str) -> None:
        with map_aws_errors(SYSTEM, expected=OVERTAKEN if condition else ()):
            self._connect().put_object(
                Bucket=self._name, Key=key, Body=data, ContentType=content_type, **condition
            )

    def put_if_unchanged(self, key: str, data: bytes, content_type: str, etag: str | None) -> bool:
        """Write only if the object still has this ETag; with None, only if it does not exist."""
        condition = {"IfMatch": etag} if etag else {"IfNoneMatch": "*"}
        try:
            self.put(key, data, content_type, **condition)
        except ExpectedError:
            return False
        return True

    def delete(self, key: str) -> None:
        """Nothing happens if there is no such object."""
        with map_aws_errors(SYSTEM):
            self._connect().delete_object(Bucket=self._name, Key=key)

    def get(self, key: str) -> bytes:
        return self.get_with_metadata(key)[0]

    def get_all(self, keys: Sequence[str]) -> list[bytes]:
        """Read several objects in parallel; the result is in the order of their keys."""
        with ThreadPoolExecutor(READERS) as pool:
            return list(pool.map(self.get, keys))

    def get_with_metadata(self, key: str) -> tuple[bytes, Mapping[str, str]]:
        def download(api: Any) -> tuple[bytes, Mapping[str, str]]:
            found = api.get_object(Bucket=self._name, Key=key)
            return found["Body"].read(), found["Metadata"]

        return self._read(download)

    def get_if_changed(self, key: str, etag: str | None) -> tuple[bytes, str] | None:
        """The object and its ETag, or None if it still has the given one."""
        condition = {"IfNoneMatch": etag} if etag else {}

        def download(api: Any) -> tuple[bytes, str]:
            found = api.get_object(Bucket=self._name, Key=key, **condition)
            return found["Body"].read(), str(found["ETag"])

        try:
            return self._read(download)
        except ExpectedError:
            return None

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """The bytes from `start` to before `end`, which the object must have."""
        if start >= end:
            return b""  # S3 refuses an empty range
        span = f"bytes={start}-{end - 1}"
        return self._read(
            lambda api: bytes(api.get_object(Bucket=self._name, Key=key, Range=span)["Body"].read())
        )

    @contextmanager
    def open(self, key: str) -> Iterator[IO[bytes]]:
        """The object as a stream, for one that may be too large for memory."""
        body = self._read(lambda api: api.get_object(Bucket=self._name, Key=key)["Body"])
        with map_aws_errors(SYSTEM), closing(body):
            yield body

    def about(self, key: str) -> tuple[int, Mapping[str, str]]:
        """Size and metadata."""
        head = self._read(lambda api: api.head_object(Bucket=self._name, Key=key))
        return head["ContentLength"], head["Metadata"]

    def presign(
        self,
        key: str,
        *,
        max_bytes: int,
        metadata: Mapping[str, str],
        content_type: str = "application/octet-stream",
    ) -> tuple[str, dict[str, str]]:
        """Address and form fields that allow one upload of this type and of limited size, for a while."""
        fields = {f"x-amz-meta-{name}": value for name, value in metadata.items()}
        fields["Content-Type"] = content_type
        conditions: list[object] = [{name: value} for name, value in fields.items()]
        with map_aws_errors(SYSTEM):
            signed = self._connect().generate_presigned_post(
                self._name,
                key,
                Fields=fields,
                Conditions=[*conditions, ["content-length-range", 0, max_bytes]],
                ExpiresIn=PRESIGNED_SECONDS,
            )
        return signed["url"], signed["fields"]

    def _read(self, call: Callable[[Any], T]) -> T:
        """Raises ExpectedError if the call was conditional and the object has not changed."""
        try:
            with map_aws_errors(SYSTEM, expected=MISSING | NOT_MODIFIED):
                return call(self._connect())
        except ExpectedError as error:
            if error.code in MISSING:
                raise MissingError("The bucket has no such object.") from error
            raise
