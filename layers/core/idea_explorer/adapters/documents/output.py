"""What the child process writes, within its limits."""

import json
import time
from collections.abc import Iterator
from typing import IO

PIECE = 65_536  # characters of a line: whoever reads it is busy with it alone for a moment


class DamagedError(Exception):
    """The document cannot be read. The message goes on a sentence that begins with its name."""


class FullError(Exception):
    """Enough was read. The message says what is missing."""


class Output:
    """Takes parts until they have `max_chars`, or `seconds` of the processor's time are over: on a busy
    machine as much is read as on an idle one."""

    def __init__(self, stream: IO[bytes], max_chars: int, seconds: float) -> None:
        self._stream = stream
        self._left = self._max_chars = max_chars
        self._until = time.process_time() + seconds
        self._written = 0

    @property
    def left(self) -> int:
        """How many characters still fit."""
        return self._left

    def add(self, label: str, text: str) -> None:
        """Raises FullError when there is no room for more; a part without text is left out."""
        for piece in _split(text[: self._left]):
            self._write({"label": label, "text": piece})
            self._written += 1
        self._left -= len(text)
        if self._left < 0:
            raise FullError(f"only its first {self._max_chars:,} characters are read")

    def check_time(self, done: str) -> None:
        """Raises FullError once the time is over; `done` says what was read."""
        if time.process_time() > self._until:
            raise FullError(f"only {done} could be read in the time there is")

    def end(self, remark: str, if_empty: str) -> None:
        """`if_empty` is what is wrong with a document that has no text at all."""
        if self._written:
            self._write({"remark": remark})
        else:
            self.fail(if_empty)

    def fail(self, reason: str) -> None:
        self._write({"error": reason})

    def _write(self, line: dict[str, str]) -> None:
        self._stream.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self._stream.flush()


def _split(text: str) -> Iterator[str]:
    """Pieces that end with a line if possible; none is blank."""
    start = 0
    while start < len(text):
        end = start + PIECE
        if end < len(text):
            end = text.rfind("\n", start + PIECE // 2, end) + 1 or end
        if piece := text[start:end].strip():
            yield piece
        start = end
