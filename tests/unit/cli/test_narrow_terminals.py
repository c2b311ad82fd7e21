"""What is told in columns fits the terminal that it is read in."""

from datetime import UTC, datetime

import pytest

from idea_explorer.api.views import build_summary
from idea_explorer.cli.checks import CheckResult
from idea_explorer.cli.doctor import format_result
from idea_explorer.cli.output import format_row
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats

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


@pytest.mark.parametrize(("width", "height"), [(None, 1), (200, 1), (95, 1), (80, 2), (40, 3)])
def test_an_exploration_of_the_list_takes_the_lines_it_needs(
    width: int | None, height: int
) -> None:
    shown = format_row(build_summary(WAITING), width).splitlines()

    assert len(shown) == height
    assert "A subscription box" in shown[-1]
    assert width is None or max(map(len, shown)) <= width


@pytest.mark.parametrize("width", [40, 60, 80])
def test_what_the_doctor_finds_is_wrapped_and_its_fix_is_not(width: int) -> None:
    *text, fix = format_result(UNWELL, width)

    assert max(map(len, text)) <= width
    assert " ".join(" ".join(text).split()).endswith(UNWELL.text)
    assert fix.strip() == f"→ {UNWELL.fix}"


def test_what_goes_to_a_file_is_not_wrapped() -> None:
    assert len(format_result(UNWELL, None)) == 2
