"""What explorations cost, summed up."""

import argparse
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idea_explorer.api.views import build_summary
from idea_explorer.cli import spend
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats

NOW = datetime.now(UTC)


def ran(days_ago: int, usd: float | None, toolset: str = "research") -> dict[str, Any]:
    at = NOW - timedelta(days=days_ago)
    request = ExploreRequest.model_validate({"idea": "Tea", "toolset": toolset})
    ended = Exploration.new(request, "ada", at=at).started(at=at)
    ended = ended.finished("completed", at=at, stats=Stats(steps=1, cost_usd=usd))
    return build_summary(ended).model_dump(mode="json")


class Listed:
    """A target that gives one exploration a page."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows = rows
        self.calls = 0

    def list_explorations(self, **query: Any) -> dict[str, Any]:
        self.calls += 1
        at = int(query.get("cursor", 0))
        cursor = str(at + 1) if at + 1 < len(self.rows) else None
        return {"explorations": [*self.rows[at : at + 1]], "cursor": cursor}


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Listed:
    target = Listed(
        ran(0, 0.5), ran(0, 1.0, "code"), ran(2, 0.25), ran(3, None), ran(40, 9.0), ran(41, 9.0)
    )
    monkeypatch.setattr(spend, "choose_target", lambda _: target)
    return target


def run(**options: Any) -> int:
    return spend.run(argparse.Namespace(**{"days": 30, "json": False, "quiet": False, **options}))


def test_sums_are_by_day_and_toolset(target: Listed, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(json=True) == 0
    found = json.loads(capsys.readouterr().out)

    assert (found["explorations"], found["cost_usd"], found["without_price"]) == (4, 1.75, 1)
    assert found["days"][NOW.date().isoformat()] == 1.5
    assert found["toolsets"] == {"code": 1.0, "research": 0.75}
    assert target.calls == 5  # the first that is too old ends it


def test_a_person_sees_every_day_as_a_bar(
    target: Listed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    out, err = capsys.readouterr()

    lines = out.splitlines()
    assert lines[0].startswith("$1.75 for 4 explorations since ")
    days = lines[lines.index("by day") + 1 : lines.index("by toolset") - 1]
    assert [line.count("█") for line in days] == [0, 7, 0, 40]
    assert err == "idea: 1 exploration used a model without a known price.\n"


def test_bars_fit_a_narrow_terminal() -> None:
    lines = [*spend.format_bars({"2026-11-17": 100.0, "2026-11-18": 0.001}, 40)]

    assert max(map(len, lines)) <= 40
    assert lines[1].endswith("█")  # a little is not nothing
    assert [*spend.format_bars({}, 40)] == []


@pytest.mark.parametrize("days", [0, 366])
def test_a_number_of_days_that_makes_no_sense_is_refused(target: Listed, days: int) -> None:
    with pytest.raises(InvalidRequestError, match="--days must be between 1 and 365"):
        run(days=days)
