"""A run as a person likes to watch it: steps, tools with durations, spend."""

import sys
import threading
from typing import Protocol, Self

from idea_explorer.domain.events import (
    AnswerStarted,
    ApprovalRequested,
    MessageStart,
    RetryScheduled,
    RunEvent,
    StatusChanged,
    StepFinished,
    TextDelta,
    ThinkingDelta,
    ToolCallEnd,
    ToolCallError,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.text import one_line, strip_control_characters
from idea_explorer.settings import Settings


class Screen(Protocol):
    def line(self, text: str, style: str = "") -> None: ...
    def working(self, text: str) -> None: ...
    def rest(self) -> None: ...


def screen_of_stderr() -> Screen:
    return TerminalScreen() if sys.stderr.isatty() else PlainScreen()


def progress_for(exploration: Exploration, settings: Settings) -> "Progress":
    request = exploration.request
    screen = screen_of_stderr()
    using = request.model if settings.uses_claude else "offline model"
    mode = f"/{request.mode}" if request.spec.takes("mode") else ""
    screen.line(f"Exploring: {one_line(request.idea, 80)}", "bold")
    screen.line(f"{request.toolset}{mode} · {using} · deadline {request.deadline_seconds} s", "dim")
    screen.line(f"exploration {exploration.id}", "dim")
    return Progress(screen)


class Progress:
    """With `text` the words too, line by line as they come. Leaves the terminal as it was."""

    def __init__(self, screen: Screen, *, text: bool = False) -> None:
        self._screen = screen
        self._names: dict[str, str] = {}
        self._written = 0
        self._thought = ""
        self._text = text
        self._open_line = ""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.rest()

    def emit(self, event: RunEvent) -> None:
        """Tools of one step run side by side; their lines come one after the other."""
        with self._lock:
            self._show(event)

    def _show(self, event: RunEvent) -> None:
        if isinstance(event, ThinkingDelta):
            self._think(event.content)
            return
        self._end_thought()
        if isinstance(event, TextDelta):
            self._write(event.content)
            return
        self._end_line()
        match event:
            case ToolCallStart():
                self._names[event.tool_call_id] = event.tool_name
                self._screen.line(
                    f"  → {event.tool_name} {_arguments(event.input)}".rstrip(), "cyan"
                )
            case ToolCallEnd():
                took = f" ({event.duration_ms:,} ms)" if event.duration_ms is not None else ""
                said = one_line(event.summary, 100)
                self._screen.line(f"  ✓ {self._named(event.tool_call_id)}{said}{took}", "green")
            case ToolCallError():
                said = one_line(event.error, 160)
                again = " (tried twice)" if event.was_retried else ""
                self._screen.line(f"  ✗ {self._named(event.tool_call_id)}{said}{again}", "red")
            case StepFinished():
                usage = event.usage
                read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
                cost = "" if event.cost is None else f" · ${event.cost:.4f}"
                self._screen.line(
                    f"step {event.step}: {read:,} tokens in, {usage.output_tokens:,} out{cost}",
                    "dim",
                )
                self._written = 0
            case RetryScheduled():
                self.waits(event.sentence)
            case AnswerStarted():
                self._written = 0
            case MessageStart() if self._written:
                self._screen.line("  … The answer broke off and is written again.", "yellow")
                self._written = 0
            case ApprovalRequested():
                description = one_line(event.description, 100)
                self._screen.line(f"  ? {event.path}: {description}", "yellow")
            case StatusChanged(to="awaiting_approval"):
                self._screen.rest()
            case _:
                pass

    def waits(self, sentence: str) -> None:
        """What it waits for before it goes on by itself."""
        self._screen.line(f"  … {sentence}", "yellow")
        self._screen.working("waiting")

    def _named(self, call_id: str) -> str:
        """A call that began before this was watched has no name here."""
        name = self._names.get(call_id)
        return f"{name}: " if name else ""

    def _write(self, content: str) -> None:
        self._written += len(content)
        if self._text:
            *lines, self._open_line = (self._open_line + content).split("\n")
            for line in lines:
                self._screen.line(f"    {line}", "dim")
        self._screen.working(f"writing · {self._written:,} characters")

    def _think(self, content: str) -> None:
        """One line of each thought stays: it says what the model is after."""
        *whole, self._thought = (self._thought + content).split("\n\n")
        for thought in whole:
            self._show_thought(thought)
        if said := one_line(self._thought.strip(), 80):
            self._screen.working(f"thinking · {said}")

    def _end_thought(self) -> None:
        self._show_thought(self._thought)
        self._thought = ""

    def _show_thought(self, thought: str) -> None:
        if said := one_line(thought.strip(), 120):
            self._screen.line(f"  · {said}", "dim")

    def _end_line(self) -> None:
        if self._open_line:
            self._screen.line(f"    {self._open_line}", "dim")
            self._open_line = ""


def _arguments(given: JsonObject) -> str:
    return one_line(" ".join(f"{name}={value!r}" for name, value in given.items()), 80)


class PlainScreen:
    """Lines only: for pipes, files and CI."""

    def line(self, text: str, style: str = "") -> None:
        print(strip_control_characters(text), file=sys.stderr, flush=True)

    def working(self, text: str) -> None:
        pass

    def rest(self) -> None:
        pass


class TerminalScreen:
    """Colours and a line that moves while the model thinks."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        self._text = Text
        self._console = Console(stderr=True, highlight=False)
        self._spinner = Spinner("dots", "thinking", style="green")
        # stdout is the result's, whatever moves on stderr
        self._live = Live(
            self._spinner, console=self._console, transient=True, redirect_stdout=False
        )
        self._live.start()

    def line(self, text: str, style: str = "") -> None:
        # as Text, so that brackets in an idea or a result are never read as markup
        self._console.print(self._text(strip_control_characters(text), style=style), soft_wrap=True)
        self.working("thinking")

    def working(self, text: str) -> None:
        self._spinner.update(text=text)
        self._live.start()

    def rest(self) -> None:
        """Hold still while a person is asked; the next news goes on."""
        self._live.stop()
