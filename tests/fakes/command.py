"""The `idea` command as a process of its own, with nothing of this environment."""

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests.fakes import forked
from tests.fakes.forked import Program

KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "PYTHON_KEYRING_BACKEND")


@dataclass(frozen=True)
class Done:
    """What a process left behind."""

    returncode: int
    stdout: str
    stderr: str


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Nothing of this environment but where programs, the home and the user's settings are."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, **variables}


def start(
    arguments: Sequence[str],
    streams: Sequence[int],
    *,
    env: Mapping[str, str],
    folder: Path | None = None,
    nohup: bool = False,
) -> Program:
    """Start `idea` with these variables, and with these files as its stdin, stdout and stderr."""
    return forked.start(
        _be_idea,
        tuple(arguments),
        nohup,
        streams=streams,
        env=environment(env),
        folder=folder or Path.cwd(),
    )


def idea(*arguments: str, env: Mapping[str, str], folder: Path, seconds: float = 60) -> Done:
    """Run `idea` to its end."""
    with (
        Path(os.devnull).open() as nothing,
        TemporaryFile("w+", encoding="utf-8") as stdout,
        TemporaryFile("w+", encoding="utf-8") as stderr,
    ):
        streams = [nothing.fileno(), stdout.fileno(), stderr.fileno()]
        program = start(arguments, streams, env=env, folder=folder)
        try:
            code = program.wait(seconds)
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


def _be_idea(arguments: Sequence[str], nohup: bool) -> None:
    if nohup:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    from idea_explorer.cli import main

    sys.argv = ["idea", *arguments]
    sys.exit(main(list(arguments)))
