"""Transcripts, reports and approvals: small entries in the table, other texts in the bucket, with pointers to
them in the table.

The object is written first and counts only once the table points to it, which the lease guards. So no
entry is ever half written, and one that a worker wrote after losing its lease is never read.
"""

import hashlib
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.adapters.dynamodb.events import (
    MAX_GROUP,
    DumpedEvent,
    EventNumbers,
    check_lease,
    dump_events,
    split_events,
)
from idea_explorer.adapters.dynamodb.expressions import Create, Write, begins_with
from idea_explorer.adapters.dynamodb.record_items import save_record
from idea_explorer.adapters.dynamodb.schema import (
    APPROVAL,
    ENTRY,
    PK,
    SK,
    Item,
    approval_key,
    approval_token_key,
    entry_key,
    record_key,
)
from idea_explorer.adapters.dynamodb.table import ConditionNotMetError, Table
from idea_explorer.adapters.records import (
    lease_lost,
    no_report,
    no_such_approval,
)
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Transcript

if TYPE_CHECKING:
    from idea_explorer.adapters.transcripts import Batch

ZLIB = "application/zlib"
MARKDOWN = "text/markdown; charset=utf-8"
MAX_INLINE_BYTES = 4_000  # of an entry: up to here the table costs no more than the bucket


class _TextStore:
    def __init__(self, table: Table, bucket: Bucket) -> None:
        self._table = table
        self._bucket = bucket

    def _upload(self, name: str, suffix: str, data: bytes, content_type: str) -> str:
        """Returns the object's key, which holds a hash, so that no write ever replaces another."""
        key = f"{name}-{hashlib.sha256(data).hexdigest()[:16]}{suffix}"
        self._bucket.put(key, data, content_type)
        return key


class CloudTranscripts(_TextStore):
    def __init__(self, table: Table, bucket: Bucket, numbers: EventNumbers | None = None) -> None:
        super().__init__(table, bucket)
        self._numbers = numbers or EventNumbers(table)

    def open(self, exploration_id: ExplorationId, lease: int) -> Transcript:
        items = self._table.query_all(begins_with(exploration_id, ENTRY))

        begun: Batch | None = None
        parts: list[_Part] = []  # of it: those that are not stored yet

        def write(batch: "Batch") -> None:
            nonlocal begun, parts
            if batch is not begun:
                begun, parts = batch, _split(batch)
            held: list[Write] = [check_lease(exploration_id, lease)]
            try:
                while parts:
                    is_last = len(parts) == 1
                    writes = save_record(batch.record) if is_last and batch.record else held
                    new = [
                        Create(self._entry_item(exploration_id, lease, n, data))
                        for n, data in enumerate(parts[0].entries, start=parts[0].number)
                    ]
                    self._numbers.write(exploration_id, [*writes, *new], parts[0].events)
                    del parts[0]
            except ConditionNotMetError as refused:
                raise lease_lost(exploration_id) from refused

        from idea_explorer.adapters.transcripts import LeasedTranscript

        return LeasedTranscript(self._read(items), write)

    def _entry_item(
        self, exploration_id: ExplorationId, lease: int, number: int, data: bytes
    ) -> Item:
        key = {**entry_key(exploration_id, number), "lease": lease}
        if len(data) <= MAX_INLINE_BYTES:
            return {**key, "data": data}
        name = f"explorations/{exploration_id}/transcript/{number:06d}-{lease}"
        return {**key, "object": self._upload(name, ".json.zz", data, ZLIB)}

    def _read(self, items: Sequence[Item]) -> list[bytes]:
        keys = [item["object"] for item in items if "object" in item]
        objects = iter(self._bucket.get_all(keys))
        return [next(objects) if "object" in item else item["data"] for item in items]


class _Part(NamedTuple):
    """What one transaction stores of a batch."""

    number: int  # of the first entry
    entries: Sequence[bytes]
    events: Sequence[DumpedEvent]


def _split(batch: "Batch") -> list[_Part]:
    """Most often one part. The last one goes with the record."""
    number, entries = batch.number, batch.entries
    *early, events = split_events(dump_events(batch.events))
    parts = [_Part(number, [], group) for group in early]
    while len(entries) > MAX_GROUP:
        parts.append(_Part(number, entries[:MAX_GROUP], []))
        number, entries = number + MAX_GROUP, entries[MAX_GROUP:]
    if len(entries) + len(events) > MAX_GROUP:
        parts.append(_Part(number, [], events))
        events = []
    return [*parts, _Part(number, entries, events)]


class CloudReports(_TextStore):
    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        name = f"explorations/{exploration_id}/report-{lease}"
        key = self._upload(name, ".md", markdown.encode(), MARKDOWN)
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


class CloudApprovals(_TextStore):
    """A request is one item; a decision updates it on the condition that it has none yet, so the first
    decision stands."""

    def request_approval(self, approval: Approval) -> None:
        key = approval_key(approval.exploration_id, approval.id)
        if self._table.get(key, SK) is None:
            # only one worker at a time requests approvals, so counting is enough
            number = len(self._items(approval.exploration_id)) + 1
            self._table.put_new(
                {**key, "object": self._upload_approval(approval), "number": number}
            )

    def approvals(self, exploration_id: ExplorationId) -> Sequence[Approval]:
        items = sorted(self._items(exploration_id), key=lambda item: (item["number"], item[SK]))
        found = self._bucket.get_all([item["object"] for item in items])
        return [_restore(data) for data in found]

    def decide(self, decided: Approval) -> Approval:
        values = {"decided": str(decided.decision)}
        return self._update(decided, values, "attribute_not_exists(#decided)")

    def apply(self, applied: Approval) -> Approval:
        # what it says is in the object
        condition = "attribute_exists(#decided) AND attribute_not_exists(#applied)"
        return self._update(applied, {"applied": True}, condition)

    def _update(self, approval: Approval, values: Item, condition: str) -> Approval:
        """Replace the stored approval on a condition; return the one that is stored then."""
        key = approval_key(approval.exploration_id, approval.id)
        uploaded = self._upload_approval(approval)
        assignments = [f"#{name} = :{name}" for name in values]
        try:
            self._table.update(
                key,
                f"SET #object = :object, {', '.join(assignments)}",
                {"object": uploaded, **values},
                when=f"attribute_exists(#{PK}) AND {condition}",
            )
        except ConditionNotMetError as refused:
            stored = self._table.get(key, "object")
            if stored is None:
                raise no_such_approval(approval.id) from refused
            return _restore(self._bucket.get(stored["object"]))
        return approval

    def keep_token(self, exploration_id: ExplorationId, token: str) -> None:
        self._table.put({**approval_token_key(exploration_id), "token": token})

    def token(self, exploration_id: ExplorationId) -> str | None:
        item = self._table.get(approval_token_key(exploration_id), "token")
        return str(item["token"]) if item else None

    def _items(self, exploration_id: ExplorationId) -> list[Item]:
        return self._table.query_all(begins_with(exploration_id, APPROVAL))

    def _upload_approval(self, approval: Approval) -> str:
        data = zlib.compress(approval.model_dump_json().encode())
        name = f"approvals/{approval.exploration_id}/{approval.id}"
        return self._upload(name, ".json.zz", data, ZLIB)


def _restore(data: bytes) -> Approval:
    return Approval.model_validate_json(zlib.decompress(data))
