"""Turns at a branch, kept in SQLite: for publishers on one machine."""

import sqlite3
from pathlib import Path

from idea_explorer.domain.deadline import Clock

BUSY_TIMEOUT_SECONDS = 30.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS branch_leases (
    branch TEXT PRIMARY KEY, holder TEXT NOT NULL, until REAL NOT NULL);
"""


class SqliteBranchLease:
    """Safe between threads and processes: each call is one statement on a connection of its own."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def acquire(self, branch: str, holder: str, *, seconds: float) -> float:
        now = self._now()
        with self._connect() as db:
            held = db.execute(
                "INSERT INTO branch_leases VALUES (?, ?, ?) ON CONFLICT (branch) DO UPDATE SET"
                " holder = excluded.holder, until = excluded.until"
                " WHERE until <= ? OR holder = excluded.holder RETURNING until",
                (branch, holder, now + seconds, now),
            ).fetchone()
            if held:
                return 0.0
            row = db.execute(
                "SELECT until FROM branch_leases WHERE branch = ?", (branch,)
            ).fetchone()
        # a lease that ended between the two statements is free in no time
        return max(0.001, row[0] - now) if row else 0.001

    def renew(self, branch: str, holder: str, *, seconds: float) -> None:
        with self._connect() as db:
            db.execute(
                "UPDATE branch_leases SET until = ? WHERE branch = ? AND holder = ?",
                (self._now() + seconds, branch, holder),
            )

    def release(self, branch: str, holder: str) -> None:
        with self._connect() as db:
            db.execute(
                "DELETE FROM branch_leases WHERE branch = ? AND holder = ?", (branch, holder)
            )

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _connect(self) -> "_Connection":
        return _Connection(self._path)


class _Connection:
    """Opened and closed with its use; SQLite's own context manager leaves it open."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)
        self._db.execute(SCHEMA)

    def __enter__(self) -> sqlite3.Connection:
        return self._db

    def __exit__(self, *_: object) -> None:
        self._db.close()
