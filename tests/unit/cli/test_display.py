"""The progress of a run, line by line."""

from dataclasses import replace

import pytest

from idea_explorer.cli.display import ProgressDisplay
from idea_explorer.cli.screens import PlainScreen
from idea_explorer.domain.events import (
    AnswerStarted,
    ApprovalRequested,
    BranchFinished,
    BranchStarted,
    EventUsage,
    RunEvent,
    StepFinished,
    TextDelta,
    ToolCallStart,
)

USAGE = EventUsage(input_tokens=1, output_tokens=1, cache_read_tokens=0, cache_write_tokens=0)
TEXT = TextDelta(content="# Tea")
CALL = ToolCallStart(tool_call_id="a", tool_name="list_research", input={})


def finished(stop_reason: str) -> StepFinished:
    return StepFinished(step=1, usage=USAGE, cost=0.0, stop_reason=stop_reason)


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (
            [TEXT, finished("end_turn")],
            "The report is incomplete; one more step asks for it again.",
        ),
        ([finished("end_turn")], "The answer contains no report; one more step asks for it."),
        (
            [TEXT, finished("max_tokens")],
            "The answer reached its length limit; one more step continues it.",
        ),
        ([TEXT, finished("tool_use"), CALL], None),
        ([TEXT, finished("pause_turn")], None),
    ],
)
def test_a_step_after_the_report_says_why_it_is_needed(
    before: list[RunEvent], reason: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    display = ProgressDisplay(PlainScreen())

    for event in [AnswerStarted(step=1), *before, AnswerStarted(step=2)]:
        display.emit(event)

    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  … ")]
    assert said == ([f"  … {reason}"] if reason else [])


def test_a_move_that_waits_for_a_person_says_where_the_file_goes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ApprovalRequested(
        approval_id="1",
        tool_call_id="a",
        path="a.py",
        new_path="lib/a.py",
        description="Tidy up",
        diff="",
        base_sha="",
        content_hash="",
    )
    ProgressDisplay(PlainScreen()).emit(asked)

    assert "  ? a.py → lib/a.py: Tidy up\n" in capsys.readouterr().err


class Terminal(PlainScreen):
    """What a terminal shows of the text that is being written, each time that it changes."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def show_unfinished(self, text: str) -> None:
        self.shown.append(text)


@pytest.mark.parametrize("show_text", [True, False])
def test_words_are_shown_as_they_come_and_lines_stay_if_they_are_wanted(
    show_text: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = Terminal()
    display = ProgressDisplay(screen, show_text=show_text)

    for words in ("Bees", " are\nsma", "ll."):
        display.emit(TextDelta(content=words))
    beginning = "" if show_text else "Bees are\n"  # a line that stays is not shown twice
    assert screen.shown == ["Bees", f"{beginning}sma", f"{beginning}small."]

    display.emit(finished("end_turn"))
    assert screen.shown[-1] == ""
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("    ")]
    assert lines == (["    Bees are", "    small."] if show_text else [])


def test_the_lines_of_a_branch_carry_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    display = ProgressDisplay(PlainScreen())
    call = replace(CALL, tool_call_id="2-a", branch=2)
    events: list[RunEvent] = [
        BranchStarted(branch=2, question="Who drinks tea?"),
        call,
        BranchFinished(branch=2, status="timed_out", cost=0.0125, error="Too late."),
    ]
    for event in events:
        display.emit(event)

    assert capsys.readouterr().err.splitlines() == [
        "  [2] Who drinks tea?",
        "  → [2] list_research",
        "  [2] timed out: Too late. · $0.0125",
    ]


def test_a_call_is_shown_with_the_question_that_it_looks_into(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ProgressDisplay(PlainScreen()).emit(replace(CALL, question=3))
    assert capsys.readouterr().err == "  → list_research (question 3)\n"


class Layout(PlainScreen):
    """What is laid out, and what is shown as it is. Knows whether another thread could come between."""

    def __init__(self) -> None:
        self.laid_out: list[str] = []
        self.lines: list[str] = []
        self.display = ProgressDisplay(self, show_text=True)
        self.was_locked: list[bool] = []

    def line(self, text: str, style: str = "") -> None:
        if text.startswith("    "):
            self.lines.append(text[4:])

    def text(self, markdown: str) -> None:
        self.laid_out.append(markdown)
        self.was_locked.append(self.display._lock.locked())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\n```py\n# comment\n| a |\n```\n| b |\n| c |\n# d", "```py\n# comment\n| a |\n```"),
        ("````\n```\n# a\n````\nb", "````\n```\n# a\n````"),
        ("- ~~~\n  # a\n\n  | b |\n# c", "- ~~~\n  # a\n\n  | b |"),
        ("- ```\n  # a\n```\n# c", "- ```\n  # a\n```"),
        ("> ```\n> # a\n# c", "> ```\n> # a"),
        ("```not` a fence\n# a", ""),
    ],
)
def test_code_is_shown_as_it_is_while_it_is_written(text: str, code: str) -> None:
    screen = Layout()
    for sign in text:
        screen.display.emit(TextDelta(content=sign))
    screen.display.emit(finished("end_turn"))

    assert "\n".join(screen.lines) == code
    shown = "\n".join([*screen.lines, *screen.laid_out])
    assert sorted(shown.split("\n")) == sorted([*text.split("\n")])


@pytest.mark.parametrize(
    ("stop_reason", "code"), [("max_tokens", ["```", "# a", "# b"]), ("end_turn", ["```", "# a"])]
)
def test_only_an_answer_that_is_continued_is_still_in_code(
    stop_reason: str, code: list[str]
) -> None:
    screen = Layout()
    events: list[RunEvent] = [
        TextDelta(content="```\n# a"),
        finished(stop_reason),
        AnswerStarted(step=2),
        TextDelta(content="# b\n"),
    ]
    for event in events:
        screen.display.emit(event)

    assert screen.lines == code


def test_no_other_thread_comes_between_the_rows_of_the_last_table() -> None:
    screen = Layout()
    with screen.display:
        screen.display.emit(TextDelta(content="| a |\n"))

    assert (screen.laid_out, screen.was_locked) == (["| a |"], [True])
