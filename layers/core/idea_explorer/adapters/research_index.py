"""The index of published research where there is no deployment: made from the documents themselves."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from idea_explorer.adapters.aws.client import aws_errors, code_of
from idea_explorer.domain.errors import UnavailableError
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.similar_research import Index, index_document
from idea_explorer.ports import ResearchRepository


class ComputedIndex:
    """Made from the documents each time: always true, and quick enough on one machine."""

    def __init__(self, repository: ResearchRepository | None) -> None:
        self._repository = repository

    def load(self) -> Index:
        documents = self._repository.read_all() if self._repository else []
        return Index(
            entries=tuple(
                index_document(f"{RESEARCH_ROOT}/{path}", text) for path, text in documents
            )
        )

    def change(self, change: Callable[[Index], Index]) -> None:
        """Nothing to do: what is published is found in the documents."""


SYSTEM = "S3"
KEY = "research/index.json"
ABSENT = frozenset({"NoSuchKey", "404"})
UNCHANGED = frozenset({"304", "NotModified"})
OVERTAKEN = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
ATTEMPTS = 8


class S3ResearchIndex:
    """Read at every submit, so it is kept in memory and fetched again only if it has changed."""

    def __init__(self, bucket: str, connect: Callable[[], Any]) -> None:
        self._bucket = bucket
        self._connect = connect
        self._known: tuple[str, Index] | None = None

    def load(self) -> Index:
        return self._fetch()[1]

    def change(self, change: Callable[[Index], Index]) -> None:
        """Written only over what was read: a publisher that was quicker is not undone."""
        from botocore.exceptions import ClientError

        for _ in range(ATTEMPTS):
            tag, index = self._fetch()
            body = change(index).model_dump_json(exclude_defaults=True).encode()
            unless_changed = {"IfMatch": tag} if tag else {"IfNoneMatch": "*"}
            with aws_errors(SYSTEM):
                try:
                    self._connect().put_object(
                        Bucket=self._bucket,
                        Key=KEY,
                        Body=body,
                        ContentType="application/json",
                        **unless_changed,
                    )
                except ClientError as error:
                    if code_of(error) in OVERTAKEN:
                        continue
                    raise
            return
        raise UnavailableError("Others change the index of research all the time.")

    def _fetch(self) -> tuple[str, Index]:
        from botocore.exceptions import ClientError

        unless_known = {"IfNoneMatch": self._known[0]} if self._known else {}
        with aws_errors(SYSTEM):
            try:
                answer = self._connect().get_object(Bucket=self._bucket, Key=KEY, **unless_known)
            except ClientError as error:
                if self._known and code_of(error) in UNCHANGED:
                    return self._known
                if code_of(error) in ABSENT:
                    return "", Index()
                raise
            tag, body = str(answer["ETag"]), answer["Body"].read()
        self._known = (tag, _parsed(body))
        return self._known


def _parsed(body: bytes) -> Index:
    """An index that cannot be read counts as empty; the next publication builds it anew."""
    try:
        return Index.model_validate_json(body)
    except ValidationError:
        return Index()
