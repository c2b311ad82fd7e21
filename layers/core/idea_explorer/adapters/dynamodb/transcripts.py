"""Transcripts and reports: their text in the bucket, pointers to it in the table.

The object is written first and counts only once the table points to it, which the lease guards. So no
entry is ever half written, and one that a worker wrote after losing its lease is never read.
"""

import hashlib

from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.adapters.dynamodb.schema import ENTRY, PK, SK, entry_key, record_key
from idea_explorer.adapters.dynamodb.table import Condition, ConditionNotMetError, Table
from idea_explorer.adapters.records import LeasedTranscript, lease_lost, no_report
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Transcript

ZLIB = "application/zlib"
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

        def write(number: int, data: bytes) -> None:
            name = f"{number:06d}-{lease}-{_digest(data)}.json.zz"
            key = f"{_folder(exploration_id)}/transcript/{name}"
            self._bucket.put(key, data, ZLIB)
            try:
                self._table.put_new_while(
                    {**entry_key(exploration_id, number), "object": key, "lease": lease},
                    record_key(exploration_id),
                    Condition("#lease = :lease", {"lease": lease}),
                )
            except ConditionNotMetError as refused:
                raise lease_lost(exploration_id) from refused

        return LeasedTranscript(self._bucket.get_all(keys), write)


class CloudReports:
    def __init__(self, table: Table, bucket: Bucket) -> None:
        self._table = table
        self._bucket = bucket

    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        data = markdown.encode()
        key = f"{_folder(exploration_id)}/report-{lease}-{_digest(data)}.md"
        self._bucket.put(key, data, MARKDOWN)
        try:
            self._table.update(
                record_key(exploration_id),
                "SET #report = :report",
                {"report": key, "lease": lease},
                when="#lease = :lease",
            )
        except ConditionNotMetError as refused:
            raise lease_lost(exploration_id) from refused

    def load_report(self, exploration_id: ExplorationId) -> str:
        item = self._table.get(record_key(exploration_id), "report")
        if not item:
            raise no_report(exploration_id)
        return self._bucket.get(item["report"]).decode()


def _folder(exploration_id: str) -> str:
    return f"explorations/{exploration_id}"


def _digest(data: bytes) -> str:
    """Part of an object's key, so that no write ever replaces another."""
    return hashlib.sha256(data).hexdigest()[:16]
