"""What explorations cost, as a person and a script get it."""

import argparse
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idea_explorer.cli import spend
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats
from idea_explorer.domain.spend_summary import SpendSummary, sum_up

NOW = datetime.now(UTC)


def ran(days_ago: int, usd: float | None, toolset: str = "research") -> Exploration:
    at = NOW - timedelta(days=days_ago)
    request = ExploreRequest.model_validate({"idea": "Tea", "toolset": toolset})
    ended = Exploration.new(request, "ada", at=at).started(at=at)
    return ended.finished("completed", at=at, stats=Stats(steps=1, cost_usd=usd))


class Summing:
    """A target that has these explorations."""

    def __init__(self, *explorations: Exploration) -> None:
        self.explorations = explorations
        self.is_partial = False

    def spend(self, days: int) -> SpendSummary:
        found = sum_up(self.explorations, NOW.date(), days)
        return found.model_copy(update={"is_partial": self.is_partial})


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Summing:
    target = Summing(
        ran(0, 0.5), ran(0, 1.0, "code"), ran(2, 0.25), ran(3, None), ran(40, 9.0), ran(41, 9.0)
    )
    monkeypatch.setattr(spend, "choose_target", lambda _: target)
    return target


def run(**options: Any) -> int:
    return spend.run(argparse.Namespace(**{"days": 30, "json": False, "quiet": False, **options}))


def test_sums_are_by_day_and_toolset(target: Summing, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(json=True) == 0
    found = json.loads(capsys.readouterr().out)

    assert (found["explorations"], found["cost_usd"], found["without_price"]) == (4, 1.75, 1)
    assert found["days"][NOW.date().isoformat()] == 1.5
    assert found["toolsets"] == {"code": 1.0, "research": 0.75}
    assert found["is_partial"] is False


def test_a_person_sees_every_day_as_a_bar(
    target: Summing, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    out, err = capsys.readouterr()

    lines = out.splitlines()
    assert lines[0].startswith("$1.75 for 4 explorations since ")
    days = lines[lines.index("by day") + 1 : lines.index("by toolset") - 1]
    assert [line.count("█") for line in days] == [0, 7, 0, 40]
    assert err == "idea: 1 exploration used a model without a known price.\n"


def test_a_sum_that_is_not_whole_says_so(
    target: Summing, capsys: pytest.CaptureFixture[str]
) -> None:
    target.is_partial = True

    assert run() == 0
    out, err = capsys.readouterr()
    assert out.startswith("at least $1.75 for 4 explorations since ")
    assert "There are more explorations in these days than could be added up." in err

    run(quiet=True)
    out, err = capsys.readouterr()
    assert (out, "There are more explorations" in err) == ("1.7500\n", True)


def test_bars_fit_a_narrow_terminal() -> None:
    lines = [*spend.format_bars({"2026-11-17": 100.0, "2026-11-18": 0.001}, 40)]

    assert max(map(len, lines)) <= 40
    assert lines[1].endswith("█")  # a little is not nothing
    assert [*spend.format_bars({}, 40)] == []


@pytest.mark.parametrize("days", [0, 366])
def test_a_number_of_days_that_makes_no_sense_is_refused(target: Summing, days: int) -> None:
    with pytest.raises(InvalidRequestError, match="--days must be between 1 and 365"):
        run(days=days)
