"""Event histories of explorations in SQLite."""

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from idea_explorer.adapters.records import dump_stored_event, no_such_exploration
from idea_explorer.adapters.sqlite.database import StoreFile
from idea_explorer.adapters.sqlite.schema import check_lease
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import NumberedEvent

MAX_AT_ONCE = 50


class StoredEvent(NamedTuple):
    type: str
    data: str


class SqliteEventLog(StoreFile):
    def append(self, exploration_id: ExplorationId, lease: int | None, event: AnyEvent) -> None:
        stored = dump_events([event])
        with self._db.transaction() as db:
            if lease is not None:
                check_lease(db, exploration_id, lease)
            elif not self._db.row("SELECT 1 FROM explorations WHERE id = ?", [exploration_id]):
                raise no_such_exploration(exploration_id)
            append_events(db, exploration_id, stored)

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


def dump_events(events: Iterable[AnyEvent]) -> list[StoredEvent]:
    """To be called before the transaction, for which others wait."""
    return [StoredEvent(event.type, dump_stored_event(event)) for event in events]


def append_events(
    db: sqlite3.Connection, exploration_id: str, events: Sequence[StoredEvent]
) -> None:
    """Call it in a transaction: nobody else numbers events meanwhile. Several go into one statement: after
    each, a thread waits for the interpreter, and others for the transaction."""
    if not events:
        return
    query = "SELECT coalesce(max(number), 0) + 1 FROM events WHERE id = ?"
    (first,) = db.execute(query, (exploration_id,)).fetchone()
    rows = [(exploration_id, number, *event) for number, event in enumerate(events, start=first)]
    for start in range(0, len(rows), MAX_AT_ONCE):
        some = rows[start : start + MAX_AT_ONCE]
        places = ", ".join(["(?, ?, ?, ?)"] * len(some))
        values = tuple(chain.from_iterable(some))
        db.execute(f"INSERT INTO events VALUES {places}", values)  # noqa: S608  our own text
