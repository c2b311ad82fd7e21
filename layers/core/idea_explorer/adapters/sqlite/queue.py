"""The work queue in SQLite: at least once, in order, and it survives a restart."""

from pathlib import Path

from idea_explorer.adapters.sqlite.database import StoreFile
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Clock, Job

CLAIM_SECONDS = 5.0  # a worker that has been silent for this long is dead, and its job free again


class LocalQueue(StoreFile):
    """Both ends of the queue: WorkQueue and Jobs."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(path)
        self._clock = clock

    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        """Adds nothing if a job for the run is waiting already. One that a worker has taken does not
        count: the worker may have read the record too early."""
        self._db.execute(
            "INSERT INTO work (id, run, due) SELECT :id, :run, :due WHERE NOT EXISTS"
            " (SELECT 1 FROM work WHERE id = :id AND run = :run AND NOT taken)",
            {"id": exploration_id, "run": run, "due": self._now() + delay_seconds},
        )

    def dead_letter(self, body: str, reason: str) -> None:
        at = self._clock.now().isoformat()
        self._db.execute("INSERT INTO set_aside VALUES (?, ?, ?)", (body, reason, at))

    def has(self, exploration_id: ExplorationId, run: int) -> bool:
        """Whether a worker is doing this run, or will."""
        query = "SELECT 1 FROM work WHERE id = ? AND run = ?"
        return self._db.row(query, [exploration_id, run]) is not None

    def is_taken(self, exploration_id: ExplorationId, run: int) -> bool:
        """Whether a live worker is doing this run."""
        query = "SELECT 1 FROM work WHERE id = ? AND run = ? AND taken AND due > ?"
        return self._db.row(query, [exploration_id, run, self._now()]) is not None

    def take(self) -> Job | None:
        now = self._now()
        with self._db.transaction() as db:
            row = db.execute(
                "UPDATE work SET due = ?, attempts = attempts + 1, taken = 1 WHERE number ="
                " (SELECT number FROM work WHERE due <= ? ORDER BY due, number LIMIT 1)"
                " RETURNING number, id, run, attempts",
                (now + CLAIM_SECONDS, now),
            ).fetchone()
        return None if row is None else Job(row[0], ExplorationId(row[1]), row[2], row[3])

    def keep(self, job: Job) -> None:
        self._update(job, self._now() + CLAIM_SECONDS, taken=True)

    def put_back(self, job: Job, *, delay_seconds: float = 0.0) -> None:
        self._update(job, self._now() + delay_seconds, taken=False)

    def done(self, job: Job) -> None:
        self._db.execute("DELETE FROM work WHERE number = ?", (job.number,))

    def _update(self, job: Job, due: float, *, taken: bool) -> None:
        self._db.execute(
            "UPDATE work SET due = ?, taken = ? WHERE number = ?", (due, taken, job.number)
        )

    def _now(self) -> float:
        return self._clock.now().timestamp()
