"""The work queue in SQLite: at least once, in order, and it survives a restart.

A job belongs to the process that took it until that process ends. What shows that it has not ended is a lock,
which the system releases, and no message that the process would have to send in time: one that computes for
a minute, or that the machine gives no time, keeps its jobs.

Of a process that dies with several jobs, one may be the reason. So that the others do not fail with it, each
of them is done alone from then on, and the attempt is not counted for any of them.
"""

import uuid
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from idea_explorer.adapters.folder.locks import ProcessLock
from idea_explorer.adapters.sqlite.database import StoreFile
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Clock, Job

TIDY_SECONDS = 60.0  # after which the lock file of a worker that was killed is removed
# after which a process takes no more jobs until it has done those it has, for one that has to be done alone
ALONE_WAIT_SECONDS = 60.0
TAKEN, LEFT = 1, 2  # LEFT: its process was told to end; if that dies now, no job is the reason
_IS_DUE = """
due <= ?1 AND NOT taken AND NOT EXISTS
    (SELECT 1 FROM work AS other WHERE other.id = work.id AND other.run = work.run AND other.taken)"""
_DUE = f"SELECT number FROM work WHERE {_IS_DUE} ORDER BY due, number LIMIT 1"  # noqa: S608  our own text
# the next job for the worker ?2; ?3 is since when one waits to be done alone that goes first
_NEXT = f"""
WITH held AS (SELECT since FROM claims LEFT JOIN jobs_alone USING (number) WHERE worker = ?2)
SELECT number FROM work LEFT JOIN jobs_alone USING (number)
WHERE {_IS_DUE} AND (
    NOT EXISTS (SELECT 1 FROM held) OR (
        since IS NULL AND NOT EXISTS (SELECT 1 FROM held WHERE since IS NOT NULL)
        AND NOT EXISTS (
            SELECT 1 FROM work JOIN jobs_alone USING (number) WHERE NOT taken AND due <= ?1 AND since <= ?3
        )
    )
)
ORDER BY due, number LIMIT 1"""  # noqa: S608  our own text
_TAKE = f"""
UPDATE work SET attempts = attempts + 1, taken = {TAKEN} WHERE number = ({_NEXT})
RETURNING number, id, run, attempts"""  # noqa: S608  two texts of our own
_TAKEN = "SELECT number, worker, due, taken FROM work LEFT JOIN claims USING (number) WHERE taken"
_RELEASE = """
UPDATE work SET taken = 0 WHERE number = ?1 AND taken AND NOT EXISTS
    (SELECT 1 FROM claims WHERE number = ?1 AND worker IS NOT ?2)"""
# unless it was put back meanwhile
_LEAVE = """
UPDATE work SET attempts = attempts - 1, taken = ?1 WHERE number = ?2 AND EXISTS
    (SELECT 1 FROM claims WHERE number = ?2 AND worker = ?3)"""
_UNCOUNT = "UPDATE work SET attempts = attempts - 1 WHERE number = ?"
_FORGET = "DELETE FROM claims WHERE number = ? AND worker IS ?"


class LocalQueue(StoreFile):
    """Both ends of the queue: WorkQueue and Jobs."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(path)
        self._clock = clock
        self._locks = ProcessLock(path.parent / "running")
        self._worker = ""
        self._lock = ExitStack()

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
        rows = self._db.rows(f"{_TAKEN} AND id = ? AND run = ?", [exploration_id, run])
        return any(self._is_alive(worker, due) for _, worker, due, _ in rows)

    def is_behind(self, seconds: float) -> bool:
        """Whether a job has been waiting this long for a worker."""
        return self._db.row(_DUE, [self._now() - seconds]) is not None

    def take(self) -> Job | None:
        """Two jobs of one run are never taken at once, by whomever: the second would end the first."""
        now = self._now()
        if self._db.row(_NEXT, (now, self._worker, now - ALONE_WAIT_SECONDS)) is None:
            return None
        with self._db.transaction() as db:
            if not self._worker:
                self._lock_name()
            row = db.execute(_TAKE, (now, self._worker, now - ALONE_WAIT_SECONDS)).fetchone()
            if row is None:
                return None
            db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (row[0], self._worker))
        return Job(row[0], ExplorationId(row[1]), row[2], row[3])

    def release_lost(self) -> None:
        rows = self._db.rows(_TAKEN)
        lost = [row for row in rows if not self._is_alive(row[1], row[2])]
        if not lost:
            return
        died_with = Counter(worker for _, worker, _, taken in lost if worker and taken == TAKEN)
        with self._db.transaction() as db:
            for number, worker, _, taken in lost:
                is_released = db.execute(_RELEASE, (number, worker)).rowcount
                db.execute(_FORGET, (number, worker))
                # unless somebody else has released and taken it meanwhile
                if is_released and taken == TAKEN and died_with[worker] > 1:
                    db.execute(_UNCOUNT, (number,))
                    alone = "INSERT OR IGNORE INTO jobs_alone VALUES (?, ?)"
                    db.execute(alone, (number, self._now()))

    def put_back(self, job: Job, *, delay_seconds: float = 0.0) -> None:
        due = self._now() + delay_seconds
        with self._db.transaction() as db:
            db.execute("UPDATE work SET due = ?, taken = 0 WHERE number = ?", (due, job.number))
            db.execute("DELETE FROM claims WHERE number = ?", (job.number,))

    def leave(self, job: Job) -> None:
        self._db.execute(_LEAVE, (LEFT, job.number, self._worker))

    def done(self, job: Job) -> None:
        with self._db.transaction() as db:
            for table in ("work", "claims", "jobs_alone"):
                db.execute(f"DELETE FROM {table} WHERE number = ?", (job.number,))  # noqa: S608  ours

    def close(self) -> None:
        """Give up all jobs that were taken here, as the end of the process does."""
        self._lock.close()
        self._worker = ""

    def _lock_name(self) -> None:
        """Before anybody can read the name in a claim: the worker would seem to have ended."""
        self._locks.remove_unheld("worker-*", before=self._now() - TIDY_SECONDS)
        name = f"worker-{uuid.uuid4().hex}"
        self._lock.enter_context(self._locks.held(name))
        self._worker = name

    def _is_alive(self, worker: str | None, due: float) -> bool:
        """An earlier version of this program had no lock, but a time until which it was alive."""
        if worker is None:
            return due > self._now()
        return worker == self._worker or self._locks.is_at_work(worker)

    def _now(self) -> float:
        return self._clock.now().timestamp()
