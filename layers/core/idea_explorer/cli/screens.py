"""Where a run's progress is drawn: on a terminal, or as plain lines."""

import sys
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from idea_explorer.cli import streams
from idea_explorer.cli.columns import wrap_line
from idea_explorer.domain.text import make_printable

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

DRAWINGS_PER_SECOND = 12.5  # as many as the spinner has pictures for
# Words that come faster than this are drawn together: nobody sees the difference, and drawing takes time.
DRAW_SECONDS = 0.05
UNFINISHED_ROWS = 3
MAX_UNFINISHED = 2_000  # characters: more than fit into these rows


class Screen(Protocol):
    def line(self, text: str, style: str = "") -> None: ...
    def text(self, markdown: str) -> None: ...
    def show_activity(self, text: str) -> None: ...
    def show_unfinished(self, text: str) -> None: ...
    def pause(self) -> None: ...


def open_screen() -> Screen:
    return TerminalScreen() if sys.stderr.isatty() and not streams.is_plain() else PlainScreen()


class PlainScreen:
    """Lines only: for pipes, files and CI."""

    def line(self, text: str, style: str = "") -> None:
        print(text, file=sys.stderr, flush=True)

    def text(self, markdown: str) -> None:
        for line in markdown.split("\n"):
            self.line(f"    {line}")

    def show_activity(self, text: str) -> None:
        pass

    def show_unfinished(self, text: str) -> None:
        pass

    def pause(self) -> None:
        pass


class TerminalScreen:
    """Colours, the end of the text that is being written, and a last line that says what goes on and for
    how long."""

    def __init__(self) -> None:
        from rich.console import Console, Group
        from rich.file_proxy import FileProxy
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        self._text = Text
        self._group = Group
        self._proxy = FileProxy
        self._console = Console(file=streams.open_terminal(sys.stderr), highlight=False)
        self._spinner = Spinner("dots", style="green")
        self._activity = "thinking"
        self._unfinished = ""
        self._drawn = 0.0  # when words were, last
        self._began = self._console.get_time()
        # stdout is the result's, whatever moves on stderr
        self._live = Live(
            get_renderable=self._render,
            console=self._console,
            transient=True,
            refresh_per_second=DRAWINGS_PER_SECOND,
            redirect_stdout=False,
        )
        self._start()

    def line(self, text: str, style: str = "") -> None:
        # as Text, so that brackets in an idea or a result are never read as markup
        rows = [self._text(row, style=style) for row in wrap_line(text, self._console.width)]
        # what rich draws again by itself holds this lock too: without it one of both would erase as many rows
        # as the other has drawn, and lines would be lost
        with self._live._lock:  # noqa: SLF001
            self._console.print(*rows, sep="\n", soft_wrap=True)

    def text(self, markdown: str) -> None:
        """Prose or a table of the report as it is laid out to be read, without where its links lead to:
        the report says that."""
        from idea_explorer.cli.prose import drop_link_targets, lay_out

        indent = "    "
        width = self._console.width - len(indent)
        for line, colour in lay_out(drop_link_targets(markdown), width, has_code=False):
            self.line(f"{indent}{line}", "bold" if colour else "dim")

    def show_activity(self, text: str) -> None:
        self._activity = make_printable(text)
        self._start()

    def show_unfinished(self, text: str) -> None:
        self._unfinished = make_printable(text[-MAX_UNFINISHED:])
        now = self._console.get_time()
        if text and now - self._drawn >= DRAW_SECONDS:
            self._drawn = now
            self._live.refresh()

    def pause(self) -> None:
        """Stop moving while a person is asked; the next event starts it again."""
        self._live.stop()

    def _start(self) -> None:
        self._live.start()
        # while it moves, rich puts a stream in place of stderr that draws around the last line, and that
        # would obey what is written to it
        if isinstance(sys.stderr, self._proxy):
            sys.stderr = streams.make_stream_printable(cast("TextIO", sys.stderr))

    def _render(self) -> "Group":
        minutes, seconds = divmod(int(self._console.get_time() - self._began), 60)
        elapsed = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
        self._spinner.update(text=self._text(f"{self._activity} · {elapsed}", overflow="ellipsis"))
        return self._group(*self._unfinished_rows(), self._spinner)

    def _unfinished_rows(self) -> "list[Text]":
        if not self._unfinished:
            return []
        text = self._text(f"    {self._unfinished}", style="dim")
        return list(text.wrap(self._console, self._console.width))[-UNFINISHED_ROWS:]
