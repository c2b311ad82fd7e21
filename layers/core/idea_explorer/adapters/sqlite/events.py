"""Event histories of explorations in SQLite."""

import sqlite3
from collections.abc import Sequence

from idea_explorer.adapters.records import dump_stored_event, no_such_exploration
from idea_explorer.adapters.sqlite.database import StoreFile
from idea_explorer.adapters.sqlite.schema import check_lease
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import NumberedEvent


class SqliteEventLog(StoreFile):
    def append(self, exploration_id: ExplorationId, lease: int | None, event: AnyEvent) -> None:
        with self._db.transaction() as db:
            if lease is not None:
                check_lease(db, exploration_id, lease)
            elif not self._db.row("SELECT 1 FROM explorations WHERE id = ?", [exploration_id]):
                raise no_such_exploration(exploration_id)
            append_events(db, exploration_id, [event])

    def read(
        self, exploration_id: ExplorationId, *, after: int = 0, limit: int = 1_000
    ) -> Sequence[NumberedEvent]:
        rows = self._db.rows(
            "SELECT number, type, data FROM events WHERE id = ? AND number > ?"
            " ORDER BY number LIMIT ?",
            [exploration_id, after, limit],
        )
        return [NumberedEvent(*row) for row in rows]

    def read_last(self, exploration_id: ExplorationId, *, limit: int) -> Sequence[NumberedEvent]:
        rows = self._db.rows(
            "SELECT number, type, data FROM events WHERE id = ? ORDER BY number DESC LIMIT ?",
            [exploration_id, limit],
        )
        return [NumberedEvent(*row) for row in reversed(rows)]


def append_events(db: sqlite3.Connection, exploration_id: str, events: Sequence[AnyEvent]) -> None:
    """Call it in a transaction: nobody else numbers events meanwhile."""
    if not events:
        return
    query = "SELECT coalesce(max(number), 0) + 1 FROM events WHERE id = ?"
    (first,) = db.execute(query, (exploration_id,)).fetchone()
    db.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?)",
        [
            (exploration_id, number, event.type, dump_stored_event(event))
            for number, event in enumerate(events, start=first)
        ],
    )
