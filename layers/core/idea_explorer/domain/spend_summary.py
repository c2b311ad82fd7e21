"""What an owner's explorations have cost, by day and by toolset."""

import math
from collections.abc import Iterable
from datetime import UTC, date, timedelta

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.toolsets import ToolsetName

MAX_DAYS = 365


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
    most expensive first. `without_price`: explorations that used a model without a known price.
    `is_partial`: there were more explorations than are added up here.
    `daily_usd` is what the owner may spend in a day, and `left_today_usd` what is left of it."""

    total_usd: float
    days: list[DaySpend]
    toolsets: list[ToolsetSpend]
    without_price: int = 0
    is_partial: bool = False
    daily_usd: float | None = None
    left_today_usd: float | None = None


def sum_up(explorations: Iterable[Exploration], today: date, days: int) -> SpendSummary:
    """Those of the last `days` days, today included."""
    by_day: dict[date, list[float]] = {
        today - timedelta(days=back): [] for back in reversed(range(days))
    }
    by_toolset: dict[ToolsetName, list[float]] = {}
    without_price = 0
    for exploration in explorations:
        day, stats = day_of(exploration), exploration.run.stats
        if day not in by_day:
            continue
        usd = stats.cost_usd or 0.0
        by_day[day].append(usd)
        by_toolset.setdefault(exploration.request.toolset, []).append(usd)
        without_price += stats.cost_usd is None and stats.steps > 0
    toolsets = [
        ToolsetSpend(toolset=name, usd=math.fsum(costs), explorations=len(costs))
        for name, costs in by_toolset.items()
    ]
    return SpendSummary(
        total_usd=math.fsum(usd for costs in by_day.values() for usd in costs),
        days=[
            DaySpend(date=day, usd=math.fsum(costs), explorations=len(costs))
            for day, costs in by_day.items()
        ],
        toolsets=sorted(toolsets, key=lambda spend: (-spend.usd, spend.toolset)),
        without_price=without_price,
    )


def day_of(exploration: Exploration) -> date:
    return exploration.created_at.astimezone(UTC).date()
