"""The standard streams as a command finds them: closed, full, or with nobody reading any more."""

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO, cast


def prepare() -> None:
    """Keep a failing stderr, a closed stream or a missing character from ending a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.stdout = sys.stdout or _open_null()
    sys.stderr = cast("TextIO", LossyStream(sys.stderr or _open_null()))


def flush_stdout() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        discard_stdout()


def discard_stdout() -> None:
    """Python would try to write what is left, and complain, once more at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


class LossyStream:
    """Drops what cannot be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = _open_null()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _open_null() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 -- stays open to the end
