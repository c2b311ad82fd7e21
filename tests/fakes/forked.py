"""Processes of their own that are there at once.

A new interpreter needs seconds to load the clients of the model and of AWS, a fork of one that has
loaded them does not: the processes are forked from a server that has everything imported and nothing
started. What a fresh interpreter loads is tested in `tests/unit/project/test_startup.py`.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import forkserver, get_context, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "aws_lambda_powertools",
        "aws_lambda_powertools.metrics",
        "boto3",
        "httpcore2",
        "slugify",
        "yaml",
        "tests.fakes.warm",
    ]
)
# the code of one that ended can be read once, and starting another reads it too
_turn = threading.Lock()


def start_server() -> None:
    """Have it load everything now, while this process does something else."""
    forkserver.ensure_running()


def share_server() -> None:
    """For a fork of the process that has started it. Python would wait for the server as for a child of its
    own, which it is not."""
    server: Any = forkserver._forkserver
    if server._forkserver_pid is not None:
        server.ensure_running = resource_tracker.ensure_running


class Program:
    """A running process, to be waited for or killed. Safe to use from many threads."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def code(self) -> int | None:
        """How it ended: the number of a signal is negative. None while it runs."""
        with _turn:
            return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.code is None:
            os.kill(self.pid, number)

    def wait(self, timeout: float | None = 60) -> int:
        wait([self._process.sentinel], timeout)
        code = self.code
        assert code is not None, "it goes on and on"
        return code

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
        self.wait()


def start(
    target: Callable[..., None],
    *arguments: object,
    streams: Sequence[int],
    env: Mapping[str, str],
    folder: Path,
) -> Program:
    """Start a function as a program with these files as its stdin, stdout and stderr, these variables
    and no others, and in this folder."""
    duplicates = [DupFd(stream) for stream in streams]
    options = (target, arguments, duplicates, dict(env), str(folder))
    with _turn:
        process = FORKS.Process(target=_become, args=options)
        process.start()
    return Program(process)


def _become(
    target: Callable[..., None],
    arguments: Sequence[object],
    streams: Sequence[Any],
    env: Mapping[str, str],
    folder: str,
) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream.detach(), number)
    sys.stdin, sys.stdout = (
        os.fdopen(number, mode, encoding="utf-8", closefd=False)
        for number, mode in enumerate(("r", "w"))
    )
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    target(*arguments)
