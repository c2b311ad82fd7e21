"""A work queue in a SQLite file: at least once, in order, and nothing is lost with the process."""

from pathlib import Path

from idea_explorer.adapters.database import Database
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Clock, Job

CLAIM_SECONDS = 5.0  # a worker that says nothing for this long is dead, and its job free again
SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT NOT NULL, run INTEGER NOT NULL, due REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (id, run));
CREATE TABLE IF NOT EXISTS set_aside (body TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL);
"""


class LocalQueue:
    """WorkQueue and Jobs: both ends of the queue."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._database = Database(path, SCHEMA)
        self._clock = clock

    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        with self._database.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO jobs (id, run, due) VALUES (?, ?, ?)",
                (exploration_id, run, self._now() + delay_seconds),
            )

    def set_aside(self, body: str, reason: str) -> None:
        with self._database.transaction() as db:
            at = self._clock.now().isoformat()
            db.execute("INSERT INTO set_aside VALUES (?, ?, ?)", (body, reason, at))

    def take(self) -> Job | None:
        with self._database.transaction() as db:
            row = db.execute(
                "UPDATE jobs SET due = ?, attempts = attempts + 1 WHERE rowid ="
                " (SELECT rowid FROM jobs WHERE due <= ? ORDER BY due, id LIMIT 1)"
                " RETURNING id, run, attempts",
                (self._now() + CLAIM_SECONDS, self._now()),
            ).fetchone()
        return None if row is None else Job(ExplorationId(row[0]), row[1], row[2])

    def keep(self, job: Job) -> None:
        self.put_back(job, delay_seconds=CLAIM_SECONDS)

    def put_back(self, job: Job, *, delay_seconds: float = 0.0) -> None:
        with self._database.transaction() as db:
            db.execute(
                "UPDATE jobs SET due = ? WHERE id = ? AND run = ?",
                (self._now() + delay_seconds, job.exploration_id, job.run),
            )

    def done(self, job: Job) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM jobs WHERE id = ? AND run = ?", (job.exploration_id, job.run))

    def _now(self) -> float:
        return self._clock.now().timestamp()
