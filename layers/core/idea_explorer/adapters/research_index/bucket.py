"""The index of a deployment, in its bucket: a short list of what was published lately, and a file of SQLite's
with all other documents, without their texts.

A publication writes only the list, which takes the same time however many documents there are. Once a day, or
when the list is long, what it names goes into a new file, with what people have changed by hand.
"""

import hashlib
import threading
import uuid
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import Field, ValidationError

from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.adapters.research_index.file import IndexFile
from idea_explorer.adapters.research_index.index import AsOf, Queries
from idea_explorer.adapters.research_index.sources import DocumentSource
from idea_explorer.adapters.research_index.tables import DamagedIndexError, NewDocument
from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.errors import ExplorerError, MissingError, UnavailableError
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.similar_research import IndexEntry, index_document

KEY = "research/index.json"
MAX_RECENT = 200  # documents in the list: about 100 KB, which is read again after every publication
# what people change by hand is indexed by the first publication after that time, or when the list is full
MAX_AGE = timedelta(days=1)
ATTEMPTS = 8
IDENTITY = "deployment"

T = TypeVar("T")


class Recent(DomainModel, frozen=True):
    """What was published since the file was written; without a file, all documents."""

    entries: tuple[IndexEntry, ...] = ()
    versions: Mapping[str, str] = Field(default_factory=dict)  # git's hash of each text, by path
    rebuilt_at: datetime | None = None
    file: str = ""
    sha256: str = ""  # of the file

    def is_due(self, now: datetime) -> bool:
        """Whether a new file should be written."""
        is_old = self.rebuilt_at is None or now - self.rebuilt_at >= MAX_AGE
        return is_old or len(self.entries) >= MAX_RECENT

    def with_entry(self, entry: IndexEntry, version: str) -> "Recent":
        others = tuple(other for other in self.entries if other.path != entry.path)
        versions = {**self.versions, entry.path: version}
        return self.model_copy(update={"entries": (*others, entry), "versions": versions})


class BucketIndex(Queries):
    """Kept in memory, and downloaded only after a change. `source` is where the documents are, for those who
    publish."""

    def __init__(
        self, bucket: Bucket, source: Callable[[], DocumentSource | None] = lambda: None
    ) -> None:
        self._bucket = bucket
        self._source = source
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._etag: str | None = None
        self._recent = Recent()
        self._index = _empty()

    def add(self, document: str, text: str, now: datetime) -> bool:
        """Never overwrites what another publisher wrote in the meantime."""
        with self._lock:
            for _ in range(ATTEMPTS):
                self._load()
                before = self._recent
                recent = self._rebuild(now) if before.is_due(now) else before
                if text:
                    version = blob_sha(text.encode())
                    recent = recent.with_entry(index_document(document, text), version)
                if self._put(recent, before):
                    return recent.file != before.file
            raise UnavailableError("Too many publishers are changing the research index at once.")

    def _put(self, recent: Recent, before: Recent) -> bool:
        body = recent.model_dump_json(exclude_defaults=True).encode()
        is_written = self._bucket.put_if_unchanged(KEY, body, "application/json", self._etag)
        outdated = before.file if is_written else recent.file
        if outdated and before.file != recent.file:
            with suppress(ExplorerError):  # a file that nobody names does no harm
                self._bucket.delete(outdated)
        return is_written

    def _rebuild(self, now: datetime) -> Recent:
        """Write a file with everything that is published; what is in the list needs not be read again."""
        source = self._source()
        if source is None:
            return self._recent
        if changes := source.find_changes(self._index.state, self._index.versions):
            self._index.apply(changes.files)
            self._index.set_state(changes.state)
        data = zlib.compress(self._index.dump(), 1)
        file = f"research/index-{uuid.uuid4().hex}.db.z"
        self._bucket.put(file, data, "application/octet-stream")
        return Recent(rebuilt_at=now, file=file, sha256=hashlib.sha256(data).hexdigest())

    def _ask(self, question: Callable[[Database], T], as_of: AsOf = AsOf.LATELY) -> T:
        with self._lock:
            if as_of is not AsOf.LAST_QUESTION:
                self._load()
            return question(self._index.db)

    def _load(self) -> None:
        for is_last in (False, True):
            try:
                changed = self._bucket.get_if_changed(KEY, self._etag)
            except MissingError:
                self._forget()
                return
            if changed is None:
                return
            try:
                self._use(_parse(changed[0]))
            except MissingError:
                self._forget()
                if not is_last:
                    continue  # another publisher has just replaced the file
                lost = {"file": "", "rebuilt_at": None}
                self._use(_parse(changed[0]).model_copy(update=lost))
            self._etag = changed[1]
            return

    def _use(self, recent: Recent) -> None:
        known: dict[str, IndexEntry] = {}
        if not recent.file:
            self._index = _empty()
        elif recent.file != self._recent.file:
            try:
                self._index = _open(self._bucket.get(recent.file), recent.sha256)
            except (
                DamagedIndexError
            ):  # or of another version; the next publication writes a new one
                self._index = _empty()
                recent = recent.model_copy(update={"rebuilt_at": None})
        else:
            known = {entry.path: entry for entry in self._recent.entries}
        self._index.put_documents(
            NewDocument(
                entry.path.removeprefix(f"{RESEARCH_ROOT}/"),
                recent.versions.get(entry.path, ""),
                0,
                entry,
                entry.subject,
            )
            for entry in recent.entries
            if known.get(entry.path) != entry
        )
        self._recent = recent


def _parse(body: bytes) -> Recent:
    try:
        return Recent.model_validate_json(body)
    except ValidationError:
        return Recent()  # an unreadable one; the next publication writes a new one


def _empty() -> IndexFile:
    return IndexFile(None, IDENTITY, keeps_texts=False)


def _open(data: bytes, sha256: str) -> IndexFile:
    """Raises DamagedIndexError if it is not what was written, or by code of another version."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DamagedIndexError
    return IndexFile.load(zlib.decompress(data), IDENTITY)
