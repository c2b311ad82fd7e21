"""Transcripts, reports and approvals in SQLite."""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from idea_explorer.adapters.records import no_report, no_such_approval
from idea_explorer.adapters.sqlite.database import StoreFile
from idea_explorer.adapters.sqlite.events import append_events, dump_events
from idea_explorer.adapters.sqlite.record_file import RecordFile
from idea_explorer.adapters.sqlite.schema import check_lease
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Transcript

if TYPE_CHECKING:
    from idea_explorer.adapters.transcripts import Batch


class SqliteTranscripts(RecordFile):
    def open(self, exploration_id: ExplorationId, lease: int) -> Transcript:
        query = "SELECT data FROM entries WHERE id = ? ORDER BY number"
        stored = (data for (data,) in self._db.rows(query, [exploration_id]))

        def store(batch: "Batch") -> None:
            rows = [(exploration_id, n, data) for n, data in enumerate(batch.entries, batch.number)]
            events = dump_events(batch.events)
            record = self._dump(batch.record) if batch.record else ""

            def write(db: sqlite3.Connection) -> None:
                check_lease(db, exploration_id, lease)
                db.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
                append_events(db, exploration_id, events)
                if batch.record:
                    self._update(db, batch.record, record)

            self._db.write(write)

        from idea_explorer.adapters.transcripts import LeasedTranscript

        return LeasedTranscript(stored, store)


class SqliteReports(StoreFile):
    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        with self._db.transaction() as db:
            check_lease(db, exploration_id, lease)
            db.execute("INSERT OR REPLACE INTO reports VALUES (?, ?)", (exploration_id, markdown))

    def load_report(self, exploration_id: ExplorationId) -> str:
        row = self._db.row("SELECT markdown FROM reports WHERE id = ?", [exploration_id])
        if row is None:
            raise no_report(exploration_id)
        return str(row[0])


class SqliteApprovals(StoreFile):
    def request_approval(self, approval: Approval) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO approvals (id, exploration_id, decided, record)"
            " VALUES (?, ?, 0, ?)",
            (approval.id, approval.exploration_id, approval.model_dump_json()),
        )

    def approvals(self, exploration_id: ExplorationId) -> Sequence[Approval]:
        query = "SELECT record FROM approvals WHERE exploration_id = ? ORDER BY number"
        rows = self._db.rows(query, [exploration_id])
        return [Approval.model_validate_json(record) for (record,) in rows]

    def decide(self, decided: Approval) -> Approval:
        with self._db.transaction() as db:
            db.execute(
                "UPDATE approvals SET decided = 1, record = ? WHERE id = ? AND decided = 0",
                (decided.model_dump_json(), decided.id),
            )
            row = self._db.row("SELECT record FROM approvals WHERE id = ?", [decided.id])
        if row is None:
            raise no_such_approval(decided.id)
        return Approval.model_validate_json(row[0])

    def apply(self, applied: Approval) -> Approval:
        query = "SELECT record FROM approvals WHERE id = ?"
        with self._db.transaction() as db:
            row = self._db.row(query, [applied.id])
            if row is None:
                raise no_such_approval(applied.id)
            stored = Approval.model_validate_json(row[0])
            if stored.applied is not None or stored.decision is None:
                return stored
            record = applied.model_dump_json()
            db.execute("UPDATE approvals SET record = ? WHERE id = ?", (record, applied.id))
        return applied

    def keep_token(self, exploration_id: ExplorationId, token: str) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO approval_tokens VALUES (?, ?)", (exploration_id, token)
        )

    def token(self, exploration_id: ExplorationId) -> str | None:
        query = "SELECT token FROM approval_tokens WHERE exploration_id = ?"
        row = self._db.row(query, [exploration_id])
        return str(row[0]) if row else None
