"""Branch leases in SQLite, for publishers on one machine."""

from functools import cached_property
from pathlib import Path

from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.adapters.sqlite.schema import LEASES_SCHEMA
from idea_explorer.domain.deadline import Clock


class SqliteBranchLease:
    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    @cached_property
    def _db(self) -> Database:
        """Opened on first use: `idea doctor` builds a publisher and must not write to the folder."""
        return Database(self._path, LEASES_SCHEMA)

    def acquire(self, branch: str, holder: str, *, seconds: float) -> float:
        now = self._now()
        with self._db.transaction() as db:
            acquired = db.execute(
                "INSERT INTO branch_leases VALUES (?, ?, ?) ON CONFLICT (branch) DO UPDATE SET"
                " holder = excluded.holder, until = excluded.until"
                " WHERE until <= ? OR holder = excluded.holder RETURNING until",
                (branch, holder, now + seconds, now),
            ).fetchone()
            if acquired:
                return 0.0
            query = "SELECT until FROM branch_leases WHERE branch = ?"
            until = float(db.execute(query, (branch,)).fetchone()[0])
        return max(0.001, until - now)

    def renew(self, branch: str, holder: str, *, seconds: float) -> None:
        self._db.execute(
            "UPDATE branch_leases SET until = ? WHERE branch = ? AND holder = ?",
            (self._now() + seconds, branch, holder),
        )

    def release(self, branch: str, holder: str) -> None:
        self._db.execute(
            "DELETE FROM branch_leases WHERE branch = ? AND holder = ?", (branch, holder)
        )

    def _now(self) -> float:
        return self._clock.now().timestamp()
