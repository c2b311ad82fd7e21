"""The `idea` command as a process of its own, with nothing of this environment.

A new interpreter needs seconds to load the model's client, a fork of one that has loaded it does
not: the processes are forked from a server that has everything imported and nothing started.
What a fresh interpreter loads is tested in `tests/unit/test_startup.py`.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

_forks = get_context("forkserver")
_forks.set_forkserver_preload(
    [
        "idea_explorer.adapters.claude",
        "idea_explorer.adapters.github_publisher",
        "idea_explorer.cli.explore",
        "idea_explorer.cli.here",
        "idea_explorer.cli.serve",
        "idea_explorer.tools.research",
        "httpcore",
        "httpcore2",
    ]
)


@dataclass(frozen=True)
class Done:
    """What a process left behind."""

    returncode: int
    stdout: str
    stderr: str


class Program:
    """A running `idea`, to be waited for or killed."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process

    def send_signal(self, number: signal.Signals) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def wait(self, timeout: float = 60) -> int:
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it goes on and on"
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Nothing of this environment but where programs and the home are."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, **variables}


def start(
    arguments: Sequence[str],
    streams: Sequence[int],
    *,
    env: Mapping[str, str],
    folder: Path | None = None,
) -> Program:
    """Start `idea` with these variables, and with these files as its stdin, stdout and stderr."""
    duplicates = [DupFd(stream) for stream in streams]
    options = (tuple(arguments), duplicates, environment(env), str(folder or Path.cwd()))
    process = _forks.Process(target=_become_idea, args=options)
    process.start()
    return Program(process)


def idea(*arguments: str, env: Mapping[str, str], folder: Path) -> Done:
    """Run `idea` to its end."""
    with (
        Path(os.devnull).open() as nothing,
        TemporaryFile("w+", encoding="utf-8") as stdout,
        TemporaryFile("w+", encoding="utf-8") as stderr,
    ):
        streams = [nothing.fileno(), stdout.fileno(), stderr.fileno()]
        program = start(arguments, streams, env=env, folder=folder)
        try:
            code = program.wait()
        except BaseException:
            program.kill()
            raise
        return Done(code, _read(stdout), _read(stderr))


def log_lines(stderr: str, message: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in stderr.splitlines() if line.startswith("{")]
    return [line for line in lines if line["message"] == message]


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _become_idea(
    arguments: Sequence[str], streams: Sequence[Any], env: Mapping[str, str], folder: str
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
    sys.argv = ["idea", *arguments]
    from idea_explorer.cli import main

    sys.exit(main(list(arguments)))
