"""A terminal that takes down what it was told to do, and commands run in front of it."""

import fcntl
import io
import os
import pty
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

import pyte

from idea_explorer.cli import main

COLUMNS, LINES = 2_000, 400
# what the live view of a run does, and a colour
OWN_CONTROLS = {"cursor_up", "erase_in_line", "select_graphic_rendition", "reset_mode", "set_mode"}
TEXT = {"draw", "linefeed", "carriage_return", "tab"}


class Terminal(pyte.Screen):
    def __init__(self) -> None:
        self.controls: list[tuple[str, tuple[Any, ...]]] = []
        super().__init__(COLUMNS, LINES)

    def show(self, output: bytes) -> str:
        """Take an output and return all text on the screen."""
        recorder = _Recorder(self)
        pyte.ByteStream(recorder).feed(output)
        return "\n".join(self._line(number) for number in range(self.cursor.y + 1)).rstrip()

    def _line(self, number: int) -> str:
        cells = self.buffer[number]
        text = "".join(cells[column].data for column in range(max(cells, default=-1) + 1))
        return text.rstrip()

    @property
    def is_untouched(self) -> bool:
        fresh = pyte.Screen(COLUMNS, LINES)
        names = ("title", "icon_name", "mode", "margins", "charset", "savepoints", "tabstops")
        same = all(getattr(self, name) == getattr(fresh, name) for name in names)
        return bool(same and self.cursor.attrs == fresh.cursor.attrs and not self.cursor.hidden)


class _Recorder:
    """Passes every event of the parser on, and takes down those that are not text."""

    def __init__(self, screen: Terminal) -> None:
        self._screen = screen

    def __getattr__(self, name: str) -> Any:
        act = getattr(self._screen, name)
        if name in TEXT or name not in pyte.Stream.events:
            return act

        def record(*arguments: Any, **options: Any) -> None:
            self._screen.controls.append((name, arguments))
            act(*arguments, **options)

        return record


def run_on_terminal(arguments: Sequence[str]) -> bytes:
    """What `idea` writes where stdout and stderr are a terminal."""
    return show_on_terminal(lambda: _run(arguments))


def show_on_terminal(write: Callable[[], object]) -> bytes:
    """What is written where stdout and stderr are a terminal."""
    person, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    parts: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # how a terminal says that it is over
            while data := os.read(person, 65_536):
                parts.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(terminal, "w", encoding="utf-8") as stream, _streams(stream):
        write()
    reader.join()
    os.close(person)
    return b"".join(parts)


def run_into_pipe(arguments: Sequence[str]) -> bytes:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, "utf-8", write_through=True)
    with _streams(stream):
        _run(arguments)
    return written.getvalue()


@contextmanager
def _streams(stream: TextIO) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        sys.stdin, sys.stdout, sys.stderr = nothing, stream, stream
        try:
            yield
            stream.flush()
        finally:
            sys.stdin, sys.stdout, sys.stderr = cast("tuple[TextIO, TextIO, TextIO]", before)


def _run(arguments: Sequence[str]) -> None:
    with suppress(SystemExit):  # how argparse refuses
        main(arguments)
