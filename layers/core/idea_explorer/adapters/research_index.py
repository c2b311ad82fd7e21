"""The index of published research: in the bucket of a deployment, or computed from the documents."""

from collections.abc import Callable

from pydantic import ValidationError

from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.domain.errors import MissingError, UnavailableError
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.similar_research import Index, index_documents
from idea_explorer.ports import ResearchRepository

KEY = "research/index.json"
ATTEMPTS = 8


class ComputedIndex:
    """Computed from the documents each time: always current, and fast enough on one machine."""

    def __init__(self, repository: ResearchRepository | None) -> None:
        self._repository = repository

    def load(self) -> Index:
        documents = self._repository.read_all() if self._repository else []
        return Index(
            entries=index_documents((f"{RESEARCH_ROOT}/{path}", text) for path, text in documents)
        )

    def change(self, change: Callable[[Index], Index]) -> None:
        """Nothing to do: the documents are the index."""


class S3ResearchIndex:
    """Read at every submit, so it stays in memory and is downloaded only after a change."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._latest: tuple[Index, str | None] = (Index(), None)

    def load(self) -> Index:
        return self._fetch()[0]

    def change(self, change: Callable[[Index], Index]) -> None:
        """Never overwrites what another publisher wrote in the meantime."""
        for _ in range(ATTEMPTS):
            index, etag = self._fetch()
            body = change(index).model_dump_json(exclude_defaults=True).encode()
            if self._bucket.put_if_unchanged(KEY, body, "application/json", etag):
                return
        raise UnavailableError("Too many publishers are changing the research index at once.")

    def _fetch(self) -> tuple[Index, str | None]:
        try:
            changed = self._bucket.get_if_changed(KEY, self._latest[1])
        except MissingError:
            return Index(), None
        if changed:
            try:
                index = Index.model_validate_json(changed[0])
            except ValidationError:
                index = Index()  # an unreadable one; the next publication writes a new one
            self._latest = (index, changed[1])
        return self._latest
