"""The threads that do the jobs of a queue."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.sqlite.queue import LocalQueue
from idea_explorer.domain.ids import new_id
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import Job
from idea_explorer.usecases.workers import Workers


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.01)


class FullDisk(LocalQueue):
    """A queue that cannot store for a while that a job is given back."""

    failures = 1

    def put_back(self, job: Job, *, delay_seconds: float = 0.0) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("no space left on device")
        super().put_back(job)


def test_a_job_whose_failure_could_not_be_stored_is_given_back_as_soon_as_that_is_possible(
    tmp_path: Path,
) -> None:
    jobs = FullDisk(tmp_path / "queue.db", SystemClock())
    attempts: list[int] = []

    def work(job: Job) -> None:
        attempts.append(job.attempts)
        if len(attempts) == 1:
            raise OSError("no space left on device")
        jobs.done(job)

    jobs.send(new_id(1), 1)
    with Workers(jobs, work, lambda: None, 1, SilentLog()):
        until(lambda: len(attempts) == 2)

    assert attempts == [1, 2]


def test_what_is_unfinished_at_the_end_is_left_to_the_next_process(tmp_path: Path) -> None:
    jobs = LocalQueue(tmp_path / "queue.db", SystemClock())
    begun, end = threading.Event(), threading.Event()

    def work(job: Job) -> None:
        begun.set()
        end.wait()

    jobs.send(new_id(1), 1)
    with Workers(jobs, work, lambda: None, 2, SilentLog()):
        assert begun.wait(20)
    other = LocalQueue(tmp_path / "queue.db", SystemClock())
    other.release_lost()
    while_it_lives = other.take()
    jobs.close()
    other.release_lost()
    afterwards = other.take()
    end.set()

    assert while_it_lives is None
    assert afterwards is not None
    assert afterwards.attempts == 1
