"""Exploration records in SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from idea_explorer.adapters import records
from idea_explorer.adapters.sqlite.admission import SqliteAdmission, list_waiting, take_slot
from idea_explorer.adapters.sqlite.events import SqliteEventLog, append_events, dump_events
from idea_explorer.adapters.sqlite.record_file import RecordFile, schedule_delivery
from idea_explorer.adapters.sqlite.schema import check_lease
from idea_explorer.adapters.sqlite.spend import SqliteSpend
from idea_explorer.adapters.sqlite.texts import SqliteReports, SqliteTranscripts
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import Status
from idea_explorer.ports.stores import (
    EventsOfChange,
    ExplorationPage,
    Filter,
    RecordChange,
    no_events,
)

SELECT = "SELECT record, lease, cancel_requested, position FROM explorations WHERE "


class SqliteExplorations(RecordFile):
    def create(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> bool:
        encrypted = self._secrets.encrypt(exploration)
        record, stored = self._dump(exploration), dump_events(events)

        def insert(db: sqlite3.Connection) -> bool:
            added = db.execute(
                "INSERT OR IGNORE INTO explorations VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    exploration.id,
                    exploration.owner,
                    records.list_position(exploration),
                    exploration.status,
                    exploration.lease,
                    exploration.cancel_requested,
                    record,
                ),
            )
            if not added.rowcount:
                return False
            self._secrets.store(db, exploration.id, encrypted)
            schedule_delivery(db, exploration)
            list_waiting(db, exploration)
            append_events(db, exploration.id, stored)
            return True

        return self._db.write(insert)

    def load(self, exploration_id: ExplorationId) -> Exploration:
        return self._secrets.restore(self._load(exploration_id))

    def take_over(
        self,
        exploration_id: ExplorationId,
        change: RecordChange,
        tell: EventsOfChange = no_events,
        *,
        slots: int | None = None,
    ) -> Exploration:
        with self._db.transaction() as db:
            before = self._load(exploration_id)
            after = records.change_and_lease(before, change)
            if slots is not None and after.is_exploring:
                take_slot(db, after, slots)
            self._update(db, after, self._dump(after))
            db.execute(
                "UPDATE explorations SET lease = ?, cancel_requested = ? WHERE id = ?",
                (after.lease, after.cancel_requested, after.id),
            )
            append_events(db, after.id, dump_events(tell(before, after)))
        return self._secrets.restore(
            after
        )  # here: a slow keyring must not keep others from writing

    def _load(self, exploration_id: ExplorationId) -> Exploration:
        row = self._db.row(SELECT + "id = ?", [exploration_id])
        if row is None:
            raise records.no_such_exploration(exploration_id)
        return _restore(row)

    def save(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> None:
        record, stored = self._dump(exploration), dump_events(events)
        with self._db.transaction() as db:
            check_lease(db, exploration.id, exploration.lease)
            self._update(db, exploration, record)
            append_events(db, exploration.id, stored)

    def request_cancel(self, exploration_id: ExplorationId) -> None:
        statement = "UPDATE explorations SET cancel_requested = 1 WHERE id = ?"
        if not self._db.execute(statement, [exploration_id]):
            raise records.no_such_exploration(exploration_id)

    def is_cancelled(self, exploration_id: ExplorationId) -> bool:
        query = "SELECT cancel_requested FROM explorations WHERE id = ?"
        row = self._db.row(query, [exploration_id])
        return bool(row and row[0])

    def page(
        self, owner: str, wanted: Filter, *, limit: int, cursor: str | None
    ) -> ExplorationPage:
        conditions = {
            "owner = ?": owner,
            "status = ?": wanted.status,
            "json_extract(record, '$.request.mode') = ?": wanted.mode,
            "json_extract(record, '$.request.toolset') = ?": wanted.toolset,
            "position > ?": "",
            "position < ?": None if cursor is None else records.decode_cursor(cursor),
        }
        given = {sql: value for sql, value in conditions.items() if value is not None}
        rows = self._db.rows(
            SELECT + " AND ".join(given) + " ORDER BY position DESC LIMIT ?",
            [*given.values(), limit + 1],
        )
        listed, left_out = records.restore_page(rows[:limit], _restore)
        return ExplorationPage(
            listed,
            records.encode_cursor(rows[limit - 1][3]) if len(rows) > limit else None,
            left_out,
        )

    def unchanged_since(
        self, status: Status, moment: datetime, *, limit: int | None = None
    ) -> Sequence[Exploration]:
        # as text a time sorts to the second, whether or not it has a fraction
        oldest_first = "status = ? ORDER BY json_extract(record, '$.updated_at') LIMIT ?"
        rows = self._db.rows(SELECT + oldest_first, [status, -1 if limit is None else limit])
        return records.select_unchanged(records.restore_readable(rows, _restore), status, moment)

    def due_deliveries(
        self, moment: datetime, *, limit: int | None = None
    ) -> Sequence[Exploration]:
        due = "id IN (SELECT id FROM deliveries WHERE due < ?)"
        rows = self._db.rows(SELECT + due, [records.format_sortable(moment)])
        return records.select_overdue(records.restore_readable(rows, _restore), moment)[:limit]


def _restore(row: tuple[Any, ...]) -> Exploration:
    record, lease, cancel_requested, _ = row
    return records.restore_exploration(record, lease, bool(cancel_requested))


class SqliteStore(
    SqliteExplorations,
    SqliteAdmission,
    SqliteEventLog,
    SqliteTranscripts,
    SqliteReports,
    SqliteSpend,
):
    """Every store of a run over one connection to one file; threads and processes can share it."""
