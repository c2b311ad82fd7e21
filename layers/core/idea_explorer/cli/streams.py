"""The standard streams as a command finds them: closed, full, or with nobody reading any more.

Everything that a command prints goes through them, so this is where text becomes safe to show.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TextIO, cast

from idea_explorer.cli.columns import columns_of, wrap
from idea_explorer.domain.text import make_printable

NAME = "idea: "


def prepare() -> None:
    """Make sure that no text controls the terminal, and that neither a failing stderr nor a closed stream
    nor a missing character ends a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    if not isinstance(sys.stdout, PrintableStream):
        sys.stdout = make_stream_printable(sys.stdout or _open_null())
    if not isinstance(sys.stderr, PrintableStream):
        lossy = cast("TextIO", LossyStream(sys.stderr or _open_null()))
        sys.stderr = make_stream_printable(lossy)


def make_stream_printable(stream: TextIO) -> TextIO:
    return cast("TextIO", PrintableStream(stream))


def open_terminal(stream: TextIO) -> TextIO:
    """The stream without that protection, for what draws on the terminal. Whoever uses it makes the text
    printable first."""
    return stream.terminal if isinstance(stream, PrintableStream) else stream


def print_coloured(lines: Iterable[tuple[str, str]], stream: TextIO) -> None:
    """Print lines, each with the number of its colour or ""; without colours where none are wanted."""
    in_colour = stream.isatty() and not is_plain() and not os.environ.get("NO_COLOR")
    terminal = open_terminal(stream)
    for line, colour in lines:
        text = make_printable(line)
        terminal.write(f"\x1b[{colour}m{text}\x1b[0m\n" if in_colour and colour else f"{text}\n")
    terminal.flush()


def is_plain() -> bool:
    """Whether the terminal can only show lines of text, as an editor's may."""
    return os.environ.get("TERM") in {"dumb", "unknown"}


def warn(sentence: str) -> None:
    """As one paragraph: a sentence of a server's or a model's cannot imitate one of ours."""
    text = " ".join(sentence.split())
    lines = wrap(text, columns_of(sys.stderr), NAME, " " * len(NAME))
    print("\n".join(lines), file=sys.stderr)


def say(sentence: str, rest: str = "") -> None:
    """A sentence of the result. On a terminal it ends between words; `rest` stands before its other lines."""
    print("\n".join(wrap(sentence, columns_of(sys.stdout), rest=rest)))


def flush_stdout() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        discard_stdout()


@contextmanager
def until_reader_leaves() -> Iterator[None]:
    """For output after which the exit code still has something to say, whoever stops reading: `| head`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()


def discard_stdout() -> None:
    """Python would try to write what is left, and complain, once more at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


class PrintableStream:
    """Writes text that a terminal shows and never obeys."""

    def __init__(self, stream: TextIO) -> None:
        self.terminal = stream

    def write(self, text: str) -> int:
        self.terminal.write(make_printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.terminal, name)


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
