"""The standard streams as a command finds them: closed, full, or with nobody reading any more."""

import os
import sys
from typing import TextIO, cast


def prepare() -> None:
    """Let nothing that is said on stderr end a run; open what the caller closed."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = cast("TextIO", LossyStream(sys.stderr or _nowhere()))


class LossyStream:
    """A stream whose words are dropped once they cannot be written."""

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
            self._stream = _nowhere()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 -- stays open to the end
