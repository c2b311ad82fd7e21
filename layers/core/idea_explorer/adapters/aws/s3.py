"""Objects in one S3 bucket. What is written is there for everyone who reads next."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from idea_explorer.adapters.aws.client import aws_errors, code_of
from idea_explorer.domain.errors import MissingError

Answer = TypeVar("Answer")

SYSTEM = "S3"
READERS = 8  # a transcript has dozens of entries; one by one they would take seconds
PRESIGNED_SECONDS = 900
ABSENT = frozenset({"NoSuchKey", "404"})


class Bucket:
    """Reading raises MissingError where nothing is."""

    def __init__(self, name: str, connect: Callable[[], Any]) -> None:
        self._name = name
        self._connect = connect

    def put(self, key: str, data: bytes, content_type: str) -> None:
        with aws_errors(SYSTEM):
            self._connect().put_object(
                Bucket=self._name, Key=key, Body=data, ContentType=content_type
            )

    def get(self, key: str) -> bytes:
        return self.get_with_metadata(key)[0]

    def get_all(self, keys: Sequence[str]) -> list[bytes]:
        """Several at once, in the order of their keys."""
        with ThreadPoolExecutor(READERS) as pool:
            return list(pool.map(self.get, keys))

    def get_with_metadata(self, key: str) -> tuple[bytes, Mapping[str, str]]:
        return self._there(lambda api: self._download(api, key))

    def about(self, key: str) -> tuple[int, Mapping[str, str]]:
        """Size and metadata."""
        head = self._there(lambda api: api.head_object(Bucket=self._name, Key=key))
        return head["ContentLength"], head["Metadata"]

    def presign(
        self, key: str, *, max_bytes: int, metadata: Mapping[str, str]
    ) -> tuple[str, dict[str, str]]:
        """Address and form fields with which one object of bounded size may be uploaded, for a while."""
        fields = {f"x-amz-meta-{name}": value for name, value in metadata.items()}
        conditions: list[object] = [{name: value} for name, value in fields.items()]
        with aws_errors(SYSTEM):
            signed = self._connect().generate_presigned_post(
                self._name,
                key,
                Fields=fields,
                Conditions=[*conditions, ["content-length-range", 0, max_bytes]],
                ExpiresIn=PRESIGNED_SECONDS,
            )
        return signed["url"], signed["fields"]

    def _download(self, api: Any, key: str) -> tuple[bytes, Mapping[str, str]]:
        answer = api.get_object(Bucket=self._name, Key=key)
        return answer["Body"].read(), answer["Metadata"]

    def _there(self, call: Callable[[Any], Answer]) -> Answer:
        from botocore.exceptions import ClientError

        with aws_errors(SYSTEM):
            try:
                return call(self._connect())
            except ClientError as error:
                if code_of(error) in ABSENT:
                    raise MissingError("The bucket does not hold this.") from error
                raise
