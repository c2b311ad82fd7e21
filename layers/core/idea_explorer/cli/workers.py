"""Threads that do the jobs of a queue, and say meanwhile that they live."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from idea_explorer.ports import Job, Jobs

POLL_SECONDS = 0.2
BEAT_SECONDS = 1.0


class Workers:
    """`work` never raises, and ends by having the job done or put back."""

    def __init__(
        self, jobs: Jobs, work: Callable[[Job], None], recover: Callable[[], None], count: int
    ) -> None:
        self._jobs = jobs
        self._work = work
        self._recover = recover
        self._stopping = threading.Event()
        self._current: dict[int, Job] = {}
        self._threads = [
            *(threading.Thread(target=self._serve, daemon=True) for _ in range(count)),
            threading.Thread(target=self._beat, daemon=True),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave what is being done to the next start, at once: every step of it is stored."""
        self._stopping.set()
        for job in list(self._current.values()):
            self._jobs.put_back(job)

    def _serve(self) -> None:
        while not self._stopping.is_set():
            job = self._jobs.take()
            if job is None:
                self._stopping.wait(POLL_SECONDS)
                continue
            self._current[threading.get_ident()] = job
            self._work(job)
            del self._current[threading.get_ident()]

    def _beat(self) -> None:
        while not self._stopping.is_set():
            for job in list(self._current.values()):
                self._jobs.keep(job)
            self._recover()
            self._stopping.wait(BEAT_SECONDS)
