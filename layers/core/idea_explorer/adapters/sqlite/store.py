"""Explorations, transcripts and events in one SQLite file: the embedded store."""

import math
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path

from idea_explorer.adapters.records import (
    by_due,
    cursor_at,
    fitting,
    position_in,
    position_of,
    sortable,
)
from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.errors import LeaseLostError, MissingError
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import Status
from idea_explorer.domain.transcript import AnyEntry, dump_entry, parse_entry
from idea_explorer.domain.usage import limit_hold
from idea_explorer.ports import ExplorationPage, Filter, NumberedEvent, Transcript

SCHEMA = """
CREATE TABLE IF NOT EXISTS explorations (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, position TEXT NOT NULL, status TEXT NOT NULL,
    lease INTEGER NOT NULL, cancel_requested INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS by_owner ON explorations (owner, position);
CREATE INDEX IF NOT EXISTS by_status ON explorations (status);
CREATE TABLE IF NOT EXISTS entries (
    id TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (id, number));
CREATE TABLE IF NOT EXISTS events (
    id TEXT NOT NULL, number INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (id, number));
CREATE TABLE IF NOT EXISTS deliveries (id TEXT PRIMARY KEY, due TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS reports (id TEXT PRIMARY KEY, markdown TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS spend (
    owner TEXT NOT NULL, day TEXT NOT NULL, run TEXT NOT NULL, usd REAL NOT NULL,
    PRIMARY KEY (owner, day, run));
CREATE TABLE IF NOT EXISTS holds (
    owner TEXT NOT NULL, day TEXT NOT NULL, run TEXT NOT NULL, usd REAL NOT NULL,
    PRIMARY KEY (owner, day, run));
"""
TAKEN = """
SELECT run, max(usd) FROM
    (SELECT * FROM spend UNION ALL SELECT * FROM holds) WHERE owner = ? AND day = ? GROUP BY run
"""
SELECT = "SELECT record, lease, cancel_requested, position FROM explorations WHERE "


class SqliteStore:
    """Explorations, EventLog, Reports, Journals and Spend at once; safe between threads and processes."""

    def __init__(self, path: Path) -> None:
        self._db = Database(path, SCHEMA)

    # Explorations

    def create(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> bool:
        with self._db.transaction() as db:
            added = db.execute(
                "INSERT OR IGNORE INTO explorations VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    exploration.id,
                    exploration.owner,
                    position_of(exploration),
                    exploration.status,
                    exploration.lease,
                    exploration.cancel_requested,
                    exploration.model_dump_json(),
                ),
            )
            if not added.rowcount:
                return False
            _schedule(db, exploration)
            _append(db, exploration.id, events)
            return True

    def load(self, exploration_id: ExplorationId) -> Exploration:
        row = self._db.row(SELECT + "id = ?", [exploration_id])
        if row is None:
            raise _missing(exploration_id)
        return _exploration(*row)

    def take_over(
        self,
        exploration_id: ExplorationId,
        change: Callable[[Exploration], Exploration],
        tell: Callable[[Exploration, Exploration], Sequence[AnyEvent]] = lambda *_: (),
    ) -> Exploration:
        with self._db.transaction() as db:
            before = self.load(exploration_id)
            after = change(before).replace(lease=before.lease + 1)
            _write(db, after)
            db.execute(
                "UPDATE explorations SET lease = ?, cancel_requested = ? WHERE id = ?",
                (after.lease, after.cancel_requested, after.id),
            )
            _append(db, after.id, tell(before, after))
            return after

    def save(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> None:
        with self._db.transaction() as db:
            _hold(db, exploration.id, exploration.lease)
            _write(db, exploration)
            _append(db, exploration.id, events)

    def request_cancel(self, exploration_id: ExplorationId) -> None:
        with self._db.transaction() as db:
            changed = db.execute(
                "UPDATE explorations SET cancel_requested = 1 WHERE id = ?", (exploration_id,)
            )
            if not changed.rowcount:
                raise _missing(exploration_id)

    def is_cancelled(self, exploration_id: ExplorationId) -> bool:
        row = self._db.row(
            "SELECT cancel_requested FROM explorations WHERE id = ?", [exploration_id]
        )
        return bool(row and row[0])

    def page(
        self, owner: str, wanted: Filter, *, limit: int, cursor: str | None
    ) -> ExplorationPage:
        conditions = {
            "owner = ?": owner,
            "status = ?": wanted.status,
            "json_extract(record, '$.request.mode') = ?": wanted.mode,
            "json_extract(record, '$.request.toolset') = ?": wanted.toolset,
            "position < ?": None if cursor is None else position_in(cursor),
        }
        given = {sql: value for sql, value in conditions.items() if value is not None}
        rows = self._db.rows(
            SELECT + " AND ".join(given) + " ORDER BY position DESC LIMIT ?",
            [*given.values(), limit + 1],
        )
        return ExplorationPage(
            [_exploration(*row) for row in rows[:limit]],
            cursor_at(rows[limit - 1][3]) if len(rows) > limit else None,
        )

    def count_running(self) -> int:
        return len(self._db.rows("SELECT 1 FROM explorations WHERE status = 'running'"))

    def unchanged_since(self, status: Status, moment: datetime) -> Sequence[Exploration]:
        rows = self._db.rows(SELECT + "status = ?", [status])
        found = [_exploration(*row) for row in rows]
        unchanged = [exploration for exploration in found if exploration.updated_at < moment]
        return sorted(unchanged, key=lambda exploration: exploration.updated_at)

    def due_deliveries(self, moment: datetime) -> Sequence[Exploration]:
        due = "id IN (SELECT id FROM deliveries WHERE due < ?)"
        rows = self._db.rows(SELECT + due, [sortable(moment)])
        return by_due([_exploration(*row) for row in rows], moment)

    # EventLog

    def append(self, exploration_id: ExplorationId, lease: int | None, event: AnyEvent) -> None:
        with self._db.transaction() as db:
            if lease is None:
                self.load(exploration_id)
            else:
                _hold(db, exploration_id, lease)
            _append(db, exploration_id, [event])

    def read(
        self, exploration_id: ExplorationId, *, after: int = 0, limit: int = 1_000
    ) -> Sequence[NumberedEvent]:
        rows = self._db.rows(
            "SELECT number, type, data FROM events WHERE id = ? AND number > ?"
            " ORDER BY number LIMIT ?",
            [exploration_id, after, limit],
        )
        return [NumberedEvent(*row) for row in rows]

    # Reports

    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        with self._db.transaction() as db:
            _hold(db, exploration_id, lease)
            db.execute("INSERT OR REPLACE INTO reports VALUES (?, ?)", (exploration_id, markdown))

    def load_report(self, exploration_id: ExplorationId) -> str:
        row = self._db.row("SELECT markdown FROM reports WHERE id = ?", [exploration_id])
        if row is None:
            raise MissingError(f"Exploration {exploration_id} has no report.")
        return str(row[0])

    # Journals

    def open(self, exploration_id: ExplorationId, lease: int) -> Transcript:
        rows = self._db.rows(
            "SELECT data FROM entries WHERE id = ? ORDER BY number", [exploration_id]
        )
        entries = [parse_entry(zlib.decompress(data)) for (data,) in rows]
        return _SqliteJournal(self._db, exploration_id, lease, entries)

    # Spend

    def reserve(self, owner: str, day: date, run: str, usd: float, *, limit: float) -> float:
        with self._db.transaction() as db:
            rows = db.execute(TAKEN, (owner, day.isoformat()))
            held = limit_hold(usd, limit, (taken for other, taken in rows if other != run))
            db.execute(
                "INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?)",
                (owner, day.isoformat(), run, held),
            )
            return held

    def record(self, owner: str, day: date, run: str, usd: float) -> None:
        with self._db.transaction() as db:
            db.execute(
                "INSERT INTO spend VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET usd = max(usd, excluded.usd)",
                (owner, day.isoformat(), run, usd),
            )
            db.execute(
                "DELETE FROM holds WHERE owner = ? AND day = ? AND run = ?",
                (owner, day.isoformat(), run),
            )

    def spent(self, owner: str, day: date) -> float:
        return math.fsum(usd for _, usd in self._db.rows(TAKEN, [owner, day.isoformat()]))


class _SqliteJournal:
    def __init__(
        self,
        db: Database,
        exploration_id: ExplorationId,
        lease: int,
        entries: list[AnyEntry],
    ) -> None:
        self._db = db
        self._id = exploration_id
        self._lease = lease
        self._entries = entries

    @property
    def entries(self) -> Sequence[AnyEntry]:
        return tuple(self._entries)

    def append(self, entry: AnyEntry) -> None:
        with self._db.transaction() as db:
            _hold(db, self._id, self._lease)
            db.execute(
                "INSERT INTO entries VALUES (?, ?, ?)",
                (self._id, len(self._entries), zlib.compress(dump_entry(entry))),
            )
        self._entries.append(entry)


def _exploration(record: str, lease: int, cancel_requested: int, _position: str) -> Exploration:
    """The columns decide: a cancel request changes no record."""
    current = {"lease": lease, "cancel_requested": bool(cancel_requested)}
    return Exploration.model_validate_json(record).replace(**current)


def _write(db: sqlite3.Connection, exploration: Exploration) -> None:
    db.execute(
        "UPDATE explorations SET status = ?, record = ? WHERE id = ?",
        (exploration.status, exploration.model_dump_json(), exploration.id),
    )
    _schedule(db, exploration)


def _schedule(db: sqlite3.Connection, exploration: Exploration) -> None:
    """Keep when the message of an exploration's end is due, or that none is."""
    if due := exploration.delivery_due:
        row = (exploration.id, sortable(due))
        db.execute("INSERT OR REPLACE INTO deliveries VALUES (?, ?)", row)
    else:
        db.execute("DELETE FROM deliveries WHERE id = ?", (exploration.id,))


def _append(db: sqlite3.Connection, exploration_id: str, events: Sequence[AnyEvent]) -> None:
    for event in events:
        db.execute(
            "INSERT INTO events SELECT ?, coalesce(max(number), 0) + 1, ?, ?"
            " FROM events WHERE id = ?",
            (exploration_id, event.type, fitting(event), exploration_id),
        )


def _hold(db: sqlite3.Connection, exploration_id: str, lease: int) -> None:
    row = db.execute("SELECT lease FROM explorations WHERE id = ?", (exploration_id,)).fetchone()
    if row is None or row[0] != lease:
        raise LeaseLostError(f"Another worker has taken exploration {exploration_id} over.")


def _missing(exploration_id: str) -> MissingError:
    return MissingError(f"There is no exploration {exploration_id}.")
