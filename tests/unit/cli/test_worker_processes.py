"""The processes that explore for `idea serve`: there as long as it is, and as many as are needed."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.cli import worker_processes
from idea_explorer.cli.worker_processes import WorkerProcesses, worker_commands
from idea_explorer.observability.logging import SilentLog

WAITS = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


def processes(
    commands: Sequence[Sequence[str]], is_behind: Callable[[float], bool] = lambda _: False
) -> WorkerProcesses:
    return WorkerProcesses(commands, is_behind, SystemClock(), SilentLog())


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


@pytest.mark.parametrize(
    ("runs", "cores", "threads"),
    [(1, 2, ["1"]), (2, 2, ["1", "1"]), (5, 8, ["3", "2"]), (4, 1, ["4"])],
)
def test_runs_are_shared_among_few_processes(
    runs: int, cores: int, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)

    commands = worker_commands(runs, ["--debug"])

    assert [command[command.index("--threads") + 1] for command in commands] == threads
    assert ["--recover" in command for command in commands] == [True, False][: len(commands)]
    assert all("--debug" in command for command in commands)


def test_modules_are_not_taken_from_the_folder_that_it_serves(tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text("raise SystemExit(7)")
    (command,) = worker_commands(1, ["--help"])

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)

    assert done.returncode == 0


def test_a_process_that_dies_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    with processes([WAITS]) as workers:
        until(lambda: bool(workers.pids))
        (first,) = workers.pids
        os.kill(first, signal.SIGKILL)
        until(lambda: workers.pids != [first])

    assert "A worker process ended unexpectedly (-9)." in capsys.readouterr().err


def test_a_process_that_cannot_be_started_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = subprocess.Popen
    refused: list[int] = []

    def refuse_once(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
        if not refused:
            refused.append(errno.EAGAIN)
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        return start(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", refuse_once)
    with processes([WAITS]) as workers:
        until(lambda: bool(workers.pids))

    assert "could not be started (Resource temporarily unavailable)" in capsys.readouterr().err


def test_what_a_terminal_sends_to_the_server_does_not_reach_its_processes() -> None:
    with processes([WAITS]) as workers:
        until(lambda: bool(workers.pids))
        assert [os.getpgid(pid) for pid in workers.pids] == workers.pids


def test_the_second_process_starts_when_jobs_wait() -> None:
    asked: list[float] = []

    def is_behind(seconds: float) -> bool:
        asked.append(seconds)
        if len(asked) == 1:
            raise OSError("the disk is full")
        return len(asked) > 2

    with processes([WAITS, WAITS], is_behind) as workers:
        until(lambda: len(workers.pids) == 1)
        until(lambda: len(workers.pids) == 2)

    assert asked == [worker_processes.BEHIND_SECONDS] * 3


def test_all_have_ended_when_the_server_has() -> None:
    with processes([WAITS]) as workers:
        until(lambda: bool(workers.pids))
        pids = workers.pids

    assert not any(is_alive(pid) for pid in pids)
