"""Explorations, transcripts and events in one SQLite file: the embedded store."""

import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from idea_explorer.domain.errors import (
    ConfigurationError,
    InvalidRequestError,
    LeaseLostError,
    MissingError,
)
from idea_explorer.domain.events import AnyEvent, dump_event
from idea_explorer.domain.exploration import Exploration, Status
from idea_explorer.domain.ids import ExplorationId, is_id
from idea_explorer.domain.transcript import AnyEntry, dump_entry, parse_entry
from idea_explorer.ports import Filter, Journal, NumberedEvent, Page

BUSY_TIMEOUT_SECONDS = 30.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS explorations (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, status TEXT NOT NULL, created_at TEXT NOT NULL,
    lease INTEGER NOT NULL, cancel_requested INTEGER NOT NULL DEFAULT 0, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS by_owner ON explorations (owner, id);
CREATE INDEX IF NOT EXISTS by_status ON explorations (status, id);
CREATE TABLE IF NOT EXISTS entries (
    id TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (id, number));
CREATE TABLE IF NOT EXISTS events (
    id TEXT NOT NULL, number INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (id, number));
CREATE TABLE IF NOT EXISTS reports (id TEXT PRIMARY KEY, markdown TEXT NOT NULL);
"""


class SqliteStore:
    """Explorations, EventLog, Reports and Journals at once; safe between threads and processes."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise ConfigurationError(
                f"The store {path} cannot be opened: {error}.",
                hint="Choose a folder you may write to with IDEA_RESEARCH_DIR.",
            ) from error
        self._lock = threading.RLock()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # Explorations

    def create(self, exploration: Exploration) -> bool:
        with self._transaction() as db:
            added = db.execute(
                "INSERT OR IGNORE INTO explorations (id, owner, status, created_at, lease, record)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    exploration.id,
                    exploration.owner,
                    exploration.status,
                    exploration.created_at.isoformat(),
                    exploration.lease,
                    exploration.model_dump_json(),
                ),
            )
            return added.rowcount == 1

    def load(self, exploration_id: ExplorationId) -> Exploration:
        with self._lock:
            row = self._db.execute(
                "SELECT record, lease, cancel_requested FROM explorations WHERE id = ?",
                (exploration_id,),
            ).fetchone()
        if row is None:
            raise MissingError(f"There is no exploration {exploration_id}.")
        record, lease, cancelled = row
        exploration = Exploration.model_validate_json(record)
        return exploration.model_copy(update={"lease": lease, "cancel_requested": bool(cancelled)})

    def take_over(
        self, exploration_id: ExplorationId, change: Callable[[Exploration], Exploration]
    ) -> Exploration:
        with self._transaction() as db:
            before = self.load(exploration_id)
            after = change(before).model_copy(update={"lease": before.lease + 1})
            self._write(db, after)
            return after

    def save(self, exploration: Exploration) -> None:
        with self._transaction() as db:
            self._hold(db, exploration.id, exploration.lease)
            self._write(db, exploration)

    def request_cancel(self, exploration_id: ExplorationId) -> None:
        with self._transaction() as db:
            db.execute(
                "UPDATE explorations SET cancel_requested = 1 WHERE id = ?", (exploration_id,)
            )

    def is_cancelled(self, exploration_id: ExplorationId) -> bool:
        with self._lock:
            row = self._db.execute(
                "SELECT cancel_requested FROM explorations WHERE id = ?", (exploration_id,)
            ).fetchone()
        return bool(row and row[0])

    def page(self, owner: str, wanted: Filter, *, limit: int, cursor: str | None) -> Page:
        """Ids sort by time, so the last id of a page is the cursor to the next."""
        if cursor is not None and not is_id(cursor):
            raise InvalidRequestError(
                "'cursor': not one of ours", fields={"cursor": "not one of ours"}
            )
        conditions = {
            "status = ?": wanted.status,
            "json_extract(record, '$.request.mode') = ?": wanted.mode,
            "json_extract(record, '$.request.toolset') = ?": wanted.toolset,
            "id < ?": cursor,
        }
        given = {sql: value for sql, value in conditions.items() if value is not None}
        where = " AND ".join(["owner = ?", *given])
        with self._lock:
            rows = self._db.execute(
                f"SELECT id FROM explorations WHERE {where} ORDER BY id DESC LIMIT ?",  # noqa: S608
                (owner, *given.values(), limit + 1),
            ).fetchall()
        found = [self.load(ExplorationId(row[0])) for row in rows[:limit]]
        return Page(found, found[-1].id if len(rows) > limit else None)

    def count_running(self) -> int:
        with self._lock:
            (count,) = self._db.execute(
                "SELECT count(*) FROM explorations WHERE status = 'running'"
            ).fetchone()
        return int(count)

    def unchanged_since(self, status: Status, moment: datetime) -> Sequence[Exploration]:
        with self._lock:
            rows = self._db.execute(
                "SELECT id FROM explorations WHERE status = ?", (status,)
            ).fetchall()
        found = [self.load(ExplorationId(row[0])) for row in rows]
        unchanged = [exploration for exploration in found if exploration.updated_at < moment]
        return sorted(unchanged, key=lambda exploration: exploration.updated_at)

    def _write(self, db: sqlite3.Connection, exploration: Exploration) -> None:
        db.execute(
            "UPDATE explorations SET status = ?, lease = ?, cancel_requested = ?, record = ?"
            " WHERE id = ?",
            (
                exploration.status,
                exploration.lease,
                exploration.cancel_requested,
                exploration.model_dump_json(),
                exploration.id,
            ),
        )

    def _hold(self, db: sqlite3.Connection, exploration_id: str, lease: int) -> None:
        row = db.execute(
            "SELECT lease FROM explorations WHERE id = ?", (exploration_id,)
        ).fetchone()
        if row is None or row[0] != lease:
            raise LeaseLostError(f"Another worker has taken exploration {exploration_id} over.")

    # EventLog

    def append(self, exploration_id: ExplorationId, lease: int, event: AnyEvent) -> None:
        with self._transaction() as db:
            self._hold(db, exploration_id, lease)
            db.execute(
                "INSERT INTO events SELECT ?, coalesce(max(number), 0) + 1, ?, ?"
                " FROM events WHERE id = ?",
                (exploration_id, event.type, dump_event(event), exploration_id),
            )

    def read(
        self, exploration_id: ExplorationId, *, after: int = 0, limit: int = 1_000
    ) -> Sequence[NumberedEvent]:
        with self._lock:
            rows = self._db.execute(
                "SELECT number, type, data FROM events WHERE id = ? AND number > ?"
                " ORDER BY number LIMIT ?",
                (exploration_id, after, limit),
            ).fetchall()
        return [NumberedEvent(*row) for row in rows]

    # Reports

    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        with self._transaction() as db:
            self._hold(db, exploration_id, lease)
            db.execute("INSERT OR REPLACE INTO reports VALUES (?, ?)", (exploration_id, markdown))

    def load_report(self, exploration_id: ExplorationId) -> str:
        with self._lock:
            row = self._db.execute(
                "SELECT markdown FROM reports WHERE id = ?", (exploration_id,)
            ).fetchone()
        if row is None:
            raise MissingError(f"Exploration {exploration_id} has no report.")
        return str(row[0])

    # Journals

    def open(self, exploration_id: ExplorationId, lease: int) -> Journal:
        with self._lock:
            rows = self._db.execute(
                "SELECT data FROM entries WHERE id = ? ORDER BY number", (exploration_id,)
            ).fetchall()
        entries = [parse_entry(zlib.decompress(data)) for (data,) in rows]
        return _SqliteJournal(self, exploration_id, lease, entries)

    def add_entry(
        self, exploration_id: ExplorationId, lease: int, number: int, entry: AnyEntry
    ) -> None:
        with self._transaction() as db:
            self._hold(db, exploration_id, lease)
            db.execute(
                "INSERT INTO entries VALUES (?, ?, ?)",
                (exploration_id, number, zlib.compress(dump_entry(entry))),
            )


class _SqliteJournal:
    def __init__(
        self,
        store: SqliteStore,
        exploration_id: ExplorationId,
        lease: int,
        entries: list[AnyEntry],
    ) -> None:
        self._store = store
        self._id = exploration_id
        self._lease = lease
        self._entries = entries

    @property
    def entries(self) -> Sequence[AnyEntry]:
        return tuple(self._entries)

    def append(self, entry: AnyEntry) -> None:
        self._store.add_entry(self._id, self._lease, len(self._entries), entry)
        self._entries.append(entry)
