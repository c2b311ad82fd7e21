"""Objects in one S3 bucket. What is written is there for everyone who reads next."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from idea_explorer.adapters.aws import aws_errors, code_of
from idea_explorer.domain.errors import MissingError

SYSTEM = "S3"
READERS = 8  # a transcript has dozens of entries; one by one they would take seconds
ABSENT = frozenset({"NoSuchKey", "404"})


class Bucket:
    def __init__(self, name: str, connect: Callable[[], Any]) -> None:
        self._name = name
        self._connect = connect

    def put(self, key: str, data: bytes, content_type: str) -> None:
        with aws_errors(SYSTEM):
            self._connect().put_object(
                Bucket=self._name, Key=key, Body=data, ContentType=content_type
            )

    def get(self, key: str) -> bytes:
        """Raises MissingError."""
        return self._fetch(key)

    def get_all(self, keys: Sequence[str]) -> list[bytes]:
        """Several at once, in the order of their keys."""
        with ThreadPoolExecutor(READERS) as pool:
            return list(pool.map(self._fetch, keys))

    def _fetch(self, key: str) -> bytes:
        from botocore.exceptions import ClientError

        with aws_errors(SYSTEM):
            try:
                answer = self._connect().get_object(Bucket=self._name, Key=key)
            except ClientError as error:
                if code_of(error) in ABSENT:
                    raise MissingError("The bucket does not hold this any more.") from error
                raise
            data: bytes = answer["Body"].read()
            return data
