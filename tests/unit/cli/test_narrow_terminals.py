"""What is told in columns fits the terminal that it is read in."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from idea_explorer.api.views import build_summary
from idea_explorer.cli.checks import CheckResult
from idea_explorer.cli.columns import columns_of, count_columns, cut, fit_page, wrap
from idea_explorer.cli.doctor import format_result
from idea_explorer.cli.help import PAGES
from idea_explorer.cli.output import format_list
from idea_explorer.cli.parser import EPILOG
from idea_explorer.cli.streams import say
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats
from tests.fakes.terminal import show_on_terminal

IDEA = "A subscription box for urban beekeepers with seeds, tools and a newsletter"
NOW = datetime.now(UTC)
WAITING = (
    Exploration.new(ExploreRequest(idea=IDEA), "ada", at=NOW)
    .started(at=NOW)
    .moved("awaiting_approval", at=NOW, stats=Stats(cost_usd=12.34))
)
UNWELL = CheckResult(
    "problem",
    "deployment",
    "https://ideas.example/prod could not be reached: the name is not known here",
    "export IDEA_API_URL=https://….execute-api.eu-central-1.amazonaws.com/prod",
)


@pytest.mark.parametrize(("width", "height"), [(None, 1), (200, 1), (80, 1), (65, 2), (40, 3)])
def test_an_exploration_of_the_list_takes_the_lines_it_needs(
    width: int | None, height: int
) -> None:
    *header, row = format_list([build_summary(WAITING)], width)
    shown = row.splitlines()

    assert bool(header) == (width is not None and height == 1)  # for people, where it is a table
    assert len(shown) == height
    assert "A subscription box" in shown[-1]
    assert (" ago " in row, WAITING.id in row) == (True, width is None)
    assert width is None or max(map(len, shown)) <= width


def test_ids_that_end_alike_are_shown_longer() -> None:
    first = build_summary(WAITING)
    second = first.model_copy(update={"id": f"0199b000-0000-7000-8000{first.id[23:]}"})
    third = first.model_copy(update={"id": "0199b000-0000-7000-8000-000000000003"})

    _, *rows = format_list([first, second, third], 200)

    names = [row.split()[0] for row in rows]
    assert (names[1], names[2]) == (second.id[-len(names[1]) :], "00000003")
    assert len(names[0]) == len(names[1]) > len("-000000000003")


@pytest.mark.parametrize("width", [40, 60, 80])
def test_what_the_doctor_finds_is_wrapped_and_its_fix_is_not(width: int) -> None:
    *text, fix = format_result(UNWELL, width)

    assert max(map(len, text)) <= width
    assert " ".join(" ".join(text).split()).endswith(UNWELL.text)
    assert fix.strip() == f"→ {UNWELL.fix}"


def test_what_goes_to_a_file_is_not_wrapped() -> None:
    assert len(format_result(UNWELL, None)) == 2


def test_a_sentence_is_broken_between_words_and_its_command_is_not() -> None:
    command = "idea report 0199b000-0000-7000-8000-000000000003 --research demo"
    text = f"Nothing was published, and `idea help ids` helps. Read it with: {command}"

    assert wrap(text, 40, "idea: ", "      ") == [
        "idea: Nothing was published, and",
        "      `idea help ids` helps. Read it",
        "      with:",
        f"      {command}",
    ]


def test_a_sign_before_a_command_does_not_break_it() -> None:
    text = "Nobody has asked yet (run `idea config set ANTHROPIC_API_KEY` to begin)."

    assert wrap(text, 30) == [
        "Nobody has asked yet (run",
        "`idea config set ANTHROPIC_API_KEY`",
        "to begin).",
    ]


def test_wide_characters_take_two_columns_and_a_line_may_end_after_each() -> None:
    assert count_columns("東京 e\u0301") == 6
    assert wrap("中文報告沒有空格。這是第二句。", 12) == ["中文報告沒有", "空格。這是第", "二句。"]
    assert wrap("한국어 보고서", 8) == ["한국어", "보고서"]


def test_columns_says_how_wide_a_terminal_is_and_nothing_else_has_a_width(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "33")
    seen: list[int | None] = []
    show_on_terminal(lambda: seen.append(columns_of(sys.stderr)))
    assert seen == [33]
    with (tmp_path / "file").open("w") as file:
        assert columns_of(file) is None


def test_a_title_is_cut_by_the_columns_it_takes() -> None:
    assert cut("都市の養蜂家", 12) == "都市の養蜂家"
    assert cut("都市の養蜂家", 8) == "都市の…"
    assert cut("Bees in towns", 8) == "Bees in…"


@pytest.mark.parametrize("page", [*PAGES.values(), EPILOG])
def test_a_page_of_help_fits_a_narrow_terminal_without_breaking_a_command(page: str) -> None:
    shown = fit_page(page, 40).splitlines()

    assert fit_page(page, 80) == page
    assert " ".join(fit_page(page, 40).split()) == " ".join(page.split())
    assert [line for line in shown if len(line) > 40 and not line.startswith("  idea ")] == []
    written = [line.strip() for line in page.splitlines() if line.startswith("  idea ")]
    for command in (line.partition("   ")[0] for line in written):
        assert f"  {command}" in shown


def test_a_sentence_of_the_result_ends_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = show_on_terminal(lambda: say("completed · reused existing research; nothing was run"))

    assert shown.decode().splitlines() == [
        "completed · reused existing research;",
        "nothing was run",
    ]
