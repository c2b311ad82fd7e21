"""Who may run now, in SQLite: what waits for a slot, and who holds one."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from idea_explorer.adapters import records
from idea_explorer.adapters.sqlite.database import StoreFile
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports.admission import Slots, WaitingExploration


class SqliteAdmission(StoreFile):
    def longest_waiting(self, owner: str | None = None) -> Sequence[WaitingExploration]:
        # SQLite takes the other columns from the row that has the minimum
        query = """
            SELECT id, owner, min(since), started FROM waiting LEFT JOIN turns USING (owner)
            WHERE owner = ifnull(?, owner) GROUP BY owner"""
        return [
            WaitingExploration(
                id=ExplorationId(name),
                owner=owner,
                since=datetime.fromisoformat(since),
                owner_started=datetime.fromisoformat(started) if started else None,
            )
            for name, owner, since, started in self._db.rows(query, [owner])
        ]

    def count_waiting(self) -> int:
        return int(self._db.rows("SELECT count(*) FROM waiting")[0][0])

    def slots(self) -> Slots:
        holders = self._db.rows("SELECT id, owner FROM slots")
        paused = bool(self._db.rows("SELECT 1 FROM admission_paused"))
        return Slots({ExplorationId(name): owner for name, owner in holders}, paused)

    def set_paused(self, paused: bool) -> None:
        with self._db.transaction() as db:
            db.execute("DELETE FROM admission_paused")
            if paused:
                db.execute("INSERT INTO admission_paused VALUES (1)")

    def add_waiting(self, explorations: Sequence[Exploration]) -> int:
        rows = [(e.id, e.owner, e.waiting_since) for e in explorations]
        waiting = [(*row, records.format_sortable(since)) for *row, since in rows if since]
        with self._db.transaction() as db:
            return db.executemany(
                "INSERT OR IGNORE INTO waiting VALUES (?, ?, ?)", waiting
            ).rowcount

    def forget(self, waiting: WaitingExploration) -> None:
        self._db.execute("DELETE FROM waiting WHERE id = ?", [waiting.id])

    def free_stale_slots(self) -> int:
        query = "SELECT slots.id, record FROM slots LEFT JOIN explorations USING (id)"
        with self._db.transaction() as db:
            rows = db.execute(query).fetchall()
            stale = [
                name for name, record in rows if record is None or not records.may_explore(record)
            ]
            db.executemany("DELETE FROM slots WHERE id = ?", [(name,) for name in stale])
        return len(stale)


def list_waiting(db: sqlite3.Connection, exploration: Exploration) -> None:
    """List the exploration as waiting exactly while it waits."""
    if since := exploration.waiting_since:
        row = (exploration.id, exploration.owner, records.format_sortable(since))
        db.execute("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?)", row)
    else:
        db.execute("DELETE FROM waiting WHERE id = ?", (exploration.id,))


def take_slot(db: sqlite3.Connection, exploration: Exploration, slots: int) -> None:
    """Raises NoFreeSlotError."""
    paused = db.execute("SELECT 1 FROM admission_paused").fetchone()
    taken = db.execute("SELECT count(*) FROM slots").fetchone()[0]
    if paused or taken >= slots:
        raise records.no_free_slot(exploration.id)
    db.execute("INSERT OR IGNORE INTO slots VALUES (?, ?)", (exploration.id, exploration.owner))
    started = records.format_sortable(exploration.updated_at)
    db.execute("INSERT OR REPLACE INTO turns VALUES (?, ?)", (exploration.owner, started))


def free_slot(db: sqlite3.Connection, exploration: Exploration) -> None:
    db.execute("DELETE FROM slots WHERE id = ?", (exploration.id,))
