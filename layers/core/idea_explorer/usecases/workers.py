"""Threads that do the jobs of a queue, and make up for what was lost meanwhile."""

import threading
from collections.abc import Callable
from typing import Self

from idea_explorer.ports import Job, Jobs, Log

POLL_SECONDS = 0.2
RECOVER_SECONDS = 1.0
RETURN_SECONDS = 1.0  # before another attempt to give a job back


class Workers:
    """No failure ends a thread: a job that was not done becomes due again."""

    def __init__(
        self,
        jobs: Jobs,
        work: Callable[[Job], None],
        recover: Callable[[], None],
        count: int,
        log: Log,
        deliver: Callable[[], bool] = lambda: False,
    ) -> None:
        """`deliver` sends a webhook that is due, if there is one, in a thread of its own: a receiver
        that hangs holds up neither the jobs nor the recovery."""
        self._jobs = jobs
        self._work = work
        self._recover = recover
        self._log = log
        self._stopping = threading.Event()
        self._current: dict[int, Job] = {}
        self._threads = [
            *(self._thread(self._do_a_job, POLL_SECONDS) for _ in range(count)),
            self._thread(self._recover_lost, RECOVER_SECONDS),
            self._thread(deliver, RECOVER_SECONDS),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave unfinished jobs to the next start, without waiting: every step of them is stored. They are
        nobody else's before this process has ended, because its threads go on until then."""
        self._stopping.set()
        for job in list(self._current.values()):
            self._jobs.leave(job)

    def _thread(self, act: Callable[[], bool], pause: float) -> threading.Thread:
        """A thread that acts in a loop, with a pause whenever there was nothing to do."""

        def loop() -> None:
            while not self._stopping.is_set():
                try:
                    acted = act()
                except Exception as error:  # noqa: BLE001  the next turn may succeed
                    self._log.error("worker_failed", errorType=type(error).__name__)
                    acted = False
                if not acted:
                    self._stopping.wait(pause)

        return threading.Thread(target=loop, daemon=True)

    def _do_a_job(self) -> bool:
        job = self._jobs.take()
        if job is None:
            return False
        self._current[threading.get_ident()] = job
        try:
            self._work(job)
        except Exception as error:  # noqa: BLE001  not even that it failed could be stored
            self._log.error("worker_failed", errorType=type(error).__name__)
            self._return(job)
        finally:
            del self._current[threading.get_ident()]
        return True

    def _return(self, job: Job) -> None:
        """Nobody else may take the job while this process lives, so this is tried until it succeeds."""
        while not self._stopping.is_set():
            try:
                self._jobs.put_back(job, delay_seconds=RETURN_SECONDS)
            except Exception as error:  # noqa: BLE001  the disk may be full
                self._log.error("job_not_returned", errorType=type(error).__name__)
                self._stopping.wait(RETURN_SECONDS)
            else:
                return

    def _recover_lost(self) -> bool:
        self._jobs.release_lost()
        self._recover()
        return False
