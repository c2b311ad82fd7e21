"""What an owner's explorations have cost, by day and by toolset."""

import math
from collections.abc import Iterable
from datetime import UTC, date, timedelta

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.toolsets import ToolsetName


class DaySpend(DomainModel, frozen=True):
    """An exploration counts on the day on which it was submitted, in UTC."""

    date: date
    usd: float
    explorations: int


class ToolsetSpend(DomainModel, frozen=True):
    toolset: ToolsetName
    usd: float
    explorations: int


class SpendSummary(DomainModel, frozen=True):
    """`days` are all days, oldest first, also those without an exploration; `toolsets` those that were used,
    most expensive first. `is_partial`: there were more explorations than are added up here.
    `daily_usd` is what the owner may spend in a day, and `left_today_usd` what is left of it."""

    total_usd: float
    days: list[DaySpend]
    toolsets: list[ToolsetSpend]
    is_partial: bool = False
    daily_usd: float | None = None
    left_today_usd: float | None = None


def sum_up(explorations: Iterable[Exploration], today: date, days: int) -> SpendSummary:
    """Those of the last `days` days, today included."""
    dates = [today - timedelta(days=n) for n in reversed(range(days))]
    counted = [e for e in explorations if dates[0] <= day_of(e) <= today]
    by_day = [(day, [e for e in counted if day_of(e) == day]) for day in dates]
    names = {e.request.toolset for e in counted}
    by_toolset = [(name, [e for e in counted if e.request.toolset == name]) for name in names]
    toolsets = [
        ToolsetSpend(toolset=name, usd=_cost(found), explorations=len(found))
        for name, found in by_toolset
    ]
    return SpendSummary(
        total_usd=_cost(counted),
        days=[DaySpend(date=d, usd=_cost(found), explorations=len(found)) for d, found in by_day],
        toolsets=sorted(toolsets, key=lambda spend: (-spend.usd, spend.toolset)),
    )


def day_of(exploration: Exploration) -> date:
    return exploration.created_at.astimezone(UTC).date()


def _cost(explorations: Iterable[Exploration]) -> float:
    return math.fsum(e.run.stats.cost_usd or 0.0 for e in explorations)
