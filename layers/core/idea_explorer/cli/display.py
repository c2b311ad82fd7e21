"""A run's progress on stderr: steps, tools with durations, cost."""

import threading
from typing import TYPE_CHECKING, Self

from idea_explorer.cli.output import name_status
from idea_explorer.cli.screens import MAX_UNFINISHED, Screen
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
from idea_explorer.domain.text import one_line

if TYPE_CHECKING:
    from idea_explorer.cli.prose import FencedCode


class ProgressDisplay:
    """A terminal shows the words of an answer as they come; with `show_text`, its lines stay. Leaves the
    terminal as it was."""

    def __init__(self, screen: Screen, *, show_text: bool = False, first_step: int = 1) -> None:
        self._screen = screen
        self._show_text = show_text
        self._tool_names: dict[str, str] = {}
        self._step: int | None = first_step  # None between steps
        self._last_step: StepFinished | None = None
        self._characters = 0
        self._thought = ""
        self._unfinished = (
            ""  # text that is in no line yet; without `show_text`, the end of all text
        )
        self._table: list[str] = []  # its rows so far: only a whole one can be laid out
        self._code: FencedCode | None = None  # from the first line of a text on
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._end_table()
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
        self._end_text()
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
                self._begin_text()
            case PlanAccepted() | BranchStarted() | BranchFinished():
                self._show_plan(event)
            case ApprovalRequested():
                description = one_line(event.description, 100)
                where = f"{event.path} → {event.new_path}" if event.new_path else event.path
                self._line(f"  ? {where}: {description}", "yellow")
            case StatusChanged(to="awaiting_approval"):
                self._begin_text()  # the answer is whole; the next one is another
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
                self._begin_text()
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
                about = f" (question {event.question})" if event.question else ""
                self._line(f"  → {_branch(event)}{tool} {given}".rstrip() + about, "cyan")
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
        code = self._code
        self._begin_text()
        if before and before.stop_reason == "max_tokens":
            self._code = code  # which the answer may continue
        self._step = step
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
            self._begin_text()

    def _line(self, text: str, style: str = "yellow") -> None:
        self._screen.line(text, style)
        self._show_activity("thinking")

    def _show_activity(self, text: str) -> None:
        self._screen.show_activity(f"step {self._step} · {text}" if self._step else "working")

    def _tool(self, call_id: str) -> str:
        """Empty for a call that began before it was watched."""
        name = self._tool_names.get(call_id)
        return f"{one_line(name, 100)}: " if name else ""

    def _begin_text(self) -> None:
        """What comes does not continue what was written."""
        self._characters = 0
        self._code = None

    def _write(self, content: str) -> None:
        self._characters += len(content)
        self._unfinished += content
        if self._show_text:
            *lines, self._unfinished = self._unfinished.split("\n")
            for line in lines:
                self._show_text_line(line)
        else:
            self._unfinished = self._unfinished[-MAX_UNFINISHED:]
        self._show_activity(f"writing, {self._characters:,} characters")
        self._screen.show_unfinished(self._unfinished)

    def _show_text_line(self, line: str) -> None:
        if self._code is None:
            from idea_explorer.cli.prose import FencedCode

            self._code = FencedCode()
        is_code = self._code.takes(line)
        if line.startswith("|") and not is_code:
            self._table.append(line)
            return
        self._end_table()
        if is_code:
            self._screen.line(f"    {line}", "dim")
        else:
            self._screen.text(line)

    def _end_table(self) -> None:
        if self._table:
            self._screen.text("\n".join(self._table))
            self._table = []

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

    def _end_text(self) -> None:
        if self._unfinished and self._show_text:
            self._show_text_line(self._unfinished)
            self._show_activity("thinking")
        self._end_table()
        self._unfinished = ""
        self._screen.show_unfinished("")


def _branch(event: ToolCallStart | ToolCallEnd | ToolCallError) -> str:
    return "" if event.branch is None else f"[{event.branch}] "


def _format_input(given: JsonObject) -> str:
    return one_line(" ".join(f"{name}={value!r}" for name, value in given.items()), 80)
