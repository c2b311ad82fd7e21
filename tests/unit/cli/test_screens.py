"""The live view of a run on a terminal: what is drawn stays, and lines end between words."""

import sys
import threading

import pytest

from idea_explorer.cli import streams
from idea_explorer.cli.display import ProgressDisplay
from idea_explorer.cli.screens import TerminalScreen, open_screen
from idea_explorer.domain.events import EventUsage, MessageEnd, TextDelta
from tests.fakes.terminal import COLUMNS, LINES, Terminal, show_on_terminal

USAGE = EventUsage(input_tokens=1, output_tokens=1, cache_read_tokens=0, cache_write_tokens=0)


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> int:
    """How wide rich takes the terminal to be; it looks at the streams of the process otherwise."""
    width: int = getattr(request, "param", COLUMNS)
    monkeypatch.setenv("COLUMNS", str(width))
    return width


def draw(*lines: str) -> list[str]:
    def write() -> None:
        streams.prepare()
        screen = open_screen()
        for line in lines:
            screen.line(line)
        screen.pause()

    return Terminal().show(show_on_terminal(write)).splitlines()


@pytest.mark.long
@pytest.mark.usefixtures("columns")
def test_the_text_of_a_report_is_laid_out_as_the_report_is() -> None:
    text = "# Tea\n\nSee [notes](a.md).\n| Place | Rank |\n|---|---|\n| Oslo | 2 |\n\n| x |"

    def write() -> None:
        streams.prepare()
        with ProgressDisplay(open_screen(), show_text=True) as display:
            display.emit(TextDelta(content=text))
            display.emit(MessageEnd(usage=USAGE))

    assert Terminal().show(show_on_terminal(write)).splitlines() == [
        "    # Tea",
        "",
        "    See notes.",
        "    Place  Rank",
        "    ─────  ────",
        "    Oslo   2",
        "",
        "    x",
    ]


@pytest.mark.usefixtures("columns")
def test_code_and_nested_items_are_known_for_what_they_are() -> None:
    text = "- a\n    - nested \\* item\n\n```\n# [x](y) \\*\n| a |\n```\n"

    def write() -> None:
        streams.prepare()
        with ProgressDisplay(open_screen(), show_text=True) as display:
            display.emit(TextDelta(content=text))

    assert Terminal().show(show_on_terminal(write)).splitlines() == [
        "    - a",
        "        - nested * item",
        "",
        "    ```",
        "    # [x](y) \\*",
        "    | a |",
        "    ```",
    ]


@pytest.mark.usefixtures("columns")
def test_no_line_is_lost_while_the_view_moves() -> None:
    lines = [f"line {number}" for number in range(LINES - 20)]

    def write() -> None:
        streams.prepare()
        screen = open_screen()
        assert isinstance(screen, TerminalScreen)
        done = threading.Event()

        def redraw() -> None:  # as rich does in a thread of its own, but many times as often
            while not done.is_set():
                screen._live.refresh()

        redrawing = threading.Thread(target=redraw)
        redrawing.start()
        for line in lines:
            screen.show_unfinished("one more row")
            screen.show_unfinished("")
            screen.line(line)
        done.set()
        redrawing.join()
        screen.pause()

    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.000_01)  # so that threads are stopped at every place
    try:
        drawn = show_on_terminal(write)
    finally:
        sys.setswitchinterval(usual)
    assert Terminal().show(drawn).splitlines() == lines


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("columns", [40], indirect=True)
def test_a_long_line_is_broken_between_words_below_its_first_word() -> None:
    assert draw(
        "  ✓ search: found seven documents about tea", "    - a list item of some length, too"
    ) == [
        "  ✓ search: found seven documents about",
        "    tea",
        "    - a list item of some length, too",
    ]


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("columns", [40], indirect=True)
def test_a_command_is_never_broken() -> None:
    command = "idea approve 0199b000-0000-7000-8000-000000000003 --list"

    assert draw(f"    decide with: {command}") == ["    decide with:", f"    {command}"]


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("columns", [40], indirect=True)
def test_an_address_is_never_broken() -> None:
    address = f"https://example.com/{'a' * 40}"

    assert draw(f"  see {address}") == ["  see", f"  {address}"]
