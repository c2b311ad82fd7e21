"""The processes in which `idea serve` explores: started, started again when they die, and stopped.

They end with the server, however it ends: the standard input of each is a pipe that the server holds open.
docs/adr/0022 says why they are processes.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Self

from idea_explorer.cli.streams import warn
from idea_explorer.domain.retry import RetryPolicy
from idea_explorer.ports import Clock, Log

MAX_PROCESSES = 2  # more would cost memory that a machine with one user has better uses for
BEHIND_SECONDS = 1.0  # a job that waits this long needs another process
POLL_SECONDS = 0.5
STOP_SECONDS = 5.0
STEADY_SECONDS = 60.0  # one that lived this long can start
RESTART = RetryPolicy(first=0.5, longest=30.0)


def worker_commands(runs: int, options: Sequence[str]) -> list[list[str]]:
    """The command of each process that takes part in so many runs at a time. The first also makes up for
    what was lost."""
    count = min(runs, MAX_PROCESSES, os.cpu_count() or 1)
    # -P: the current folder holds documents of whomever, not modules of ours
    command = [sys.executable, "-P", "-m", "idea_explorer.cli.worker"]
    threads = [len(range(number, runs, count)) for number in range(count)]
    return [
        [*command, "--threads", str(own), *options, *([] if number else ["--recover"])]
        for number, own in enumerate(threads)
    ]


class WorkerProcesses:
    """The first process starts at once, each other one when jobs wait: who explores one idea after the
    other needs the memory of one."""

    def __init__(
        self,
        commands: Sequence[Sequence[str]],
        is_behind: Callable[[float], bool],
        clock: Clock,
        log: Log,
    ) -> None:
        """`is_behind` says whether a job has been waiting for so many seconds."""
        self._is_behind = is_behind
        self._clock = clock
        self._log = log
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._threads = [
            threading.Thread(target=self._supervise, args=(number, command), daemon=True)
            for number, command in enumerate(commands)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Tell all of them to stop, and wait until they have."""
        with self._starting:
            self._stopping.set()
        processes = list(self._processes.values())
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes.values()]

    def _supervise(self, number: int, command: Sequence[str]) -> None:
        if number > 0:
            self._wait_for_jobs()
        failures = 0
        while True:
            began = self._clock.monotonic()
            try:
                process = self._start(number, command)
            except OSError as error:  # no process, memory or file is left for it, for now
                failures += 1
                self._log.error("worker_process_not_started", failures=failures, reason=str(error))
                warn(f"A worker process could not be started ({error.strerror}). Trying again.")
                self._stopping.wait(RESTART.pause(failures))
                continue
            if process is None:
                return
            code = process.wait()
            if self._stopping.is_set():
                return
            is_steady = self._clock.monotonic() - began > STEADY_SECONDS
            failures = 1 if is_steady else failures + 1
            self._log.error("worker_process_ended", code=code, failures=failures)
            warn(f"A worker process ended unexpectedly ({code}). Another one takes its place.")
            self._stopping.wait(RESTART.pause(failures))

    def _wait_for_jobs(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            try:
                if self._is_behind(BEHIND_SECONDS):
                    return
            except Exception as error:  # noqa: BLE001  the next look may succeed
                self._log.error("queue_not_read", errorType=type(error).__name__)

    def _start(self, number: int, command: Sequence[str]) -> "subprocess.Popen[bytes] | None":
        """None once the server stops."""
        with self._starting:
            if self._stopping.is_set():
                return None
            process = subprocess.Popen(  # noqa: S603  no shell, our own arguments
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # ours is for the address and the token
                process_group=0,  # Ctrl-C is for the server, which then stops its workers
            )
            self._processes[number] = process
            return process
