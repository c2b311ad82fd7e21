"""What owners have spent and reserved, in SQLite: one row per run and day, summed on demand."""

import math
from datetime import date

from idea_explorer.adapters.sqlite.database import StoreFile
from idea_explorer.domain.usage import limit_hold

TAKEN = """
SELECT run, max(usd) FROM
    (SELECT * FROM spend UNION ALL SELECT * FROM holds) WHERE owner = ? AND day = ? GROUP BY run
"""


class SqliteSpend(StoreFile):
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
