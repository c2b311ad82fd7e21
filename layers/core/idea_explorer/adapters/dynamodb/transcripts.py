"""Transcripts and reports: the text in the bucket, what counts of it in the table.

The object is written first and counts only once the table points to it, under the lease. So an entry
is never half there, and one that a worker wrote after it lost its lease is never seen.
"""

import hashlib
import zlib
from collections.abc import Sequence

from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.adapters.dynamodb.explorations import lease_lost
from idea_explorer.adapters.dynamodb.schema import ENTRY, PK, SK, entry_key, record_key
from idea_explorer.adapters.dynamodb.table import Condition, ConditionNotMetError, Table
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.transcript import AnyEntry, dump_entry, parse_entry
from idea_explorer.ports import Transcript

ZIPPED = "application/zlib"
MARKDOWN = "text/markdown; charset=utf-8"


class CloudTranscripts:
    def __init__(self, table: Table, bucket: Bucket) -> None:
        self._table = table
        self._bucket = bucket

    def open(self, exploration_id: ExplorationId, lease: int) -> Transcript:
        where = Condition(
            f"#{PK} = :id AND begins_with(#{SK}, :entry)", {"id": exploration_id, "entry": ENTRY}
        )
        keys = [item["object"] for page in self._table.query(where) for item in page]
        entries = [parse_entry(zlib.decompress(data)) for data in self._bucket.get_all(keys)]
        return _CloudJournal(self._table, self._bucket, exploration_id, lease, entries)


class _CloudJournal:
    def __init__(
        self,
        table: Table,
        bucket: Bucket,
        exploration_id: ExplorationId,
        lease: int,
        entries: list[AnyEntry],
    ) -> None:
        self._table = table
        self._bucket = bucket
        self._id = exploration_id
        self._lease = lease
        self._entries = entries

    @property
    def entries(self) -> Sequence[AnyEntry]:
        return tuple(self._entries)

    def append(self, entry: AnyEntry) -> None:
        number = len(self._entries)
        data = zlib.compress(dump_entry(entry))
        place = f"{_folder(self._id)}/transcript/{number:06d}-{self._lease}-{_digest(data)}.json.zz"
        self._bucket.put(place, data, ZIPPED)
        try:
            self._table.put_new_while(
                {**entry_key(self._id, number), "object": place, "lease": self._lease},
                record_key(self._id),
                Condition("#lease = :lease", {"lease": self._lease}),
            )
        except ConditionNotMetError as refused:
            raise lease_lost(self._id) from refused
        self._entries.append(entry)


class CloudReports:
    def __init__(self, table: Table, bucket: Bucket) -> None:
        self._table = table
        self._bucket = bucket

    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        data = markdown.encode()
        place = f"{_folder(exploration_id)}/report-{lease}-{_digest(data)}.md"
        self._bucket.put(place, data, MARKDOWN)
        try:
            self._table.update(
                record_key(exploration_id),
                "SET #report = :report",
                {"report": place, "lease": lease},
                when="#lease = :lease",
            )
        except ConditionNotMetError as refused:
            raise lease_lost(exploration_id) from refused

    def load_report(self, exploration_id: ExplorationId) -> str:
        item = self._table.get(record_key(exploration_id), "report")
        if not item:
            raise MissingError(f"Exploration {exploration_id} has no report.")
        return self._bucket.get(item["report"]).decode()


def _folder(exploration_id: str) -> str:
    return f"explorations/{exploration_id}"


def _digest(data: bytes) -> str:
    """Part of an object's name, so that no write ever replaces what another has written."""
    return hashlib.sha256(data).hexdigest()[:16]
