"""A run's progress on stderr: steps, tools with durations, cost."""

import sys
import threading
from typing import TYPE_CHECKING, Protocol, Self, TextIO, cast

from idea_explorer.cli import streams
from idea_explorer.cli.output import name_status
from idea_explorer.domain.events import (
    AnswerStarted,
    ApprovalRequested,
    BranchFinished,
    BranchStarted,
    MessageStart,
    PlanAccepted,
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
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.plan import render_plan
from idea_explorer.domain.text import make_printable, one_line

if TYPE_CHECKING:
    from rich.spinner import Spinner


class Screen(Protocol):
    def line(self, text: str, style: str = "") -> None: ...
    def show_activity(self, text: str) -> None: ...
    def pause(self) -> None: ...


def open_screen() -> Screen:
    return TerminalScreen() if sys.stderr.isatty() and not streams.is_plain() else PlainScreen()


class ProgressDisplay:
    """With `show_text`, the answer too, line by line as it comes. Leaves the terminal as it was."""

    def __init__(self, screen: Screen, *, show_text: bool = False, first_step: int = 1) -> None:
        self._screen = screen
        self._show_text = show_text
        self._tool_names: dict[str, str] = {}
        self._step: int | None = first_step  # None between steps
        self._last_step: StepFinished | None = None
        self._characters = 0
        self._thought = ""
        self._open_line = ""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.pause()

    def emit(self, event: RunEvent) -> None:
        """Tools of one step run side by side; their lines come one after the other."""
        with self._lock:
            self._show(event)

    def notify(self, sentence: str) -> None:
        """What the run waits for before it continues by itself."""
        self._screen.line(f"  … {sentence}", "yellow")
        self._show_activity("waiting")

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
            case ToolCallStart() | ToolCallEnd() | ToolCallError():
                self._show_tool(event)
            case StepFinished():
                self._finish_step(event)
            case RetryScheduled():
                self.notify(event.sentence)
            case AnswerStarted():
                self._begin_step(event.step)
            case MessageStart() if self._characters:
                self._line("  … The answer was interrupted and is written again.", "yellow")
                self._characters = 0
            case PlanAccepted() | BranchStarted() | BranchFinished():
                self._show_plan(event)
            case ApprovalRequested():
                description = one_line(event.description, 100)
                where = f"{event.path} → {event.new_path}" if event.new_path else event.path
                self._line(f"  ? {where}: {description}", "yellow")
            case StatusChanged(to="awaiting_approval"):
                self._characters = 0  # the answer is whole; the next one is another
                self._screen.pause()
            case _:
                pass

    def _show_plan(self, event: PlanAccepted | BranchStarted | BranchFinished) -> None:
        """Lines of a branch carry its number, because those of all branches come mixed."""
        match event:
            case PlanAccepted():
                for line in render_plan(event.plan).splitlines():
                    self._line(f"    {line}".rstrip(), "dim")
            case BranchStarted():
                self._characters = 0
                self._line(f"  [{event.branch}] {one_line(event.question, 160)}", "bold")
            case BranchFinished():
                why = f": {one_line(event.error, 160)}" if event.error else ""
                cost = "" if event.cost is None else f" · ${event.cost:.4f}"
                style = "green" if event.status == "completed" else "red"
                self._line(f"  [{event.branch}] {name_status(event.status)}{why}{cost}", style)

    def _show_tool(self, event: ToolCallStart | ToolCallEnd | ToolCallError) -> None:
        match event:
            case ToolCallStart():
                self._tool_names[event.tool_call_id] = event.tool_name
                if event.branch is None:
                    self._last_step = None
                tool = one_line(event.tool_name, 100)
                given = _format_input(event.input)
                self._line(f"  → {_branch(event)}{tool} {given}".rstrip(), "cyan")
            case ToolCallEnd():
                took = f" ({event.duration_ms:,} ms)" if event.duration_ms is not None else ""
                summary = one_line(event.summary, 100)
                tool = _branch(event) + self._tool(event.tool_call_id)
                self._line(f"  ✓ {tool}{summary}{took}", "green")
            case ToolCallError():
                error = one_line(event.error, 160)
                again = " (tried twice)" if event.was_retried else ""
                tool = _branch(event) + self._tool(event.tool_call_id)
                self._line(f"  ✗ {tool}{error}{again}", "red")

    def _begin_step(self, step: int) -> None:
        """Says why, where the step before was to be the last."""
        before, self._last_step = self._last_step, None
        match before.stop_reason if before else "":
            case "max_tokens":
                self._line("  … The answer reached its length limit; one more step continues it.")
            case "end_turn" | "stop_sequence" if self._characters:
                self._line("  … The report is incomplete; one more step asks for it again.")
            case "end_turn" | "stop_sequence":
                self._line("  … The answer contains no report; one more step asks for it.")
            case _:
                pass
        self._step, self._characters = step, 0
        self._show_activity("thinking")

    def _finish_step(self, event: StepFinished) -> None:
        usage = event.usage
        tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        cost = "" if event.cost is None else f" · ${event.cost:.4f}"
        self._last_step = event
        # an API does not announce the next step, and keeps the stop reason to itself
        self._step = None if event.stop_reason else event.step + 1
        self._line(
            f"step {event.step}: {tokens:,} tokens in, {usage.output_tokens:,} out{cost}", "dim"
        )
        if self._step:
            self._characters = 0

    def _line(self, text: str, style: str = "yellow") -> None:
        self._screen.line(text, style)
        self._show_activity("thinking")

    def _show_activity(self, text: str) -> None:
        self._screen.show_activity(f"step {self._step} · {text}" if self._step else "working")

    def _tool(self, call_id: str) -> str:
        """Empty for a call that began before it was watched."""
        name = self._tool_names.get(call_id)
        return f"{one_line(name, 100)}: " if name else ""

    def _write(self, content: str) -> None:
        self._characters += len(content)
        if self._show_text:
            *lines, self._open_line = (self._open_line + content).split("\n")
            for line in lines:
                self._line(f"    {line}", "dim")
        self._show_activity(f"writing, {self._characters:,} characters")

    def _think(self, content: str) -> None:
        """Keeps one line of each thought, which says what the model is after."""
        *thoughts, self._thought = (self._thought + content).split("\n\n")
        for thought in thoughts:
            self._show_thought(thought)
        if text := one_line(self._thought.strip(), 60):
            self._show_activity(f"thinking: {text}")

    def _end_thought(self) -> None:
        self._show_thought(self._thought)
        self._thought = ""

    def _show_thought(self, thought: str) -> None:
        if text := one_line(thought.strip(), 120):
            self._line(f"  · {text}", "dim")

    def _end_line(self) -> None:
        if self._open_line:
            self._line(f"    {self._open_line}", "dim")
            self._open_line = ""


def _branch(event: ToolCallStart | ToolCallEnd | ToolCallError) -> str:
    return "" if event.branch is None else f"[{event.branch}] "


def _format_input(given: JsonObject) -> str:
    return one_line(" ".join(f"{name}={value!r}" for name, value in given.items()), 80)


class PlainScreen:
    """Lines only: for pipes, files and CI."""

    def line(self, text: str, style: str = "") -> None:
        print(text, file=sys.stderr, flush=True)

    def show_activity(self, text: str) -> None:
        pass

    def pause(self) -> None:
        pass


class TerminalScreen:
    """Colours, and a last line that says what goes on and for how long."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.file_proxy import FileProxy
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        self._text = Text
        self._proxy = FileProxy
        self._console = Console(file=streams.open_terminal(sys.stderr), highlight=False)
        self._spinner = Spinner("dots", style="green")
        self._activity = "thinking"
        self._began = self._console.get_time()
        # stdout is the result's, whatever moves on stderr
        self._live = Live(
            get_renderable=self._render,
            console=self._console,
            transient=True,
            redirect_stdout=False,
        )
        self._start()

    def line(self, text: str, style: str = "") -> None:
        # as Text, so that brackets in an idea or a result are never read as markup
        self._console.print(self._text(make_printable(text), style=style), soft_wrap=True)

    def show_activity(self, text: str) -> None:
        self._activity = make_printable(text)
        self._start()

    def pause(self) -> None:
        """Stop moving while a person is asked; the next event starts it again."""
        self._live.stop()

    def _start(self) -> None:
        self._live.start()
        # while it moves, rich puts a stream in place of stderr that draws around the last line, and that
        # would obey what is written to it
        if isinstance(sys.stderr, self._proxy):
            sys.stderr = streams.make_stream_printable(cast("TextIO", sys.stderr))

    def _render(self) -> "Spinner":
        minutes, seconds = divmod(int(self._console.get_time() - self._began), 60)
        elapsed = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
        self._spinner.update(text=self._text(f"{self._activity} · {elapsed}", overflow="ellipsis"))
        return self._spinner
