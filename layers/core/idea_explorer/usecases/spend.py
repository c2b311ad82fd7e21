"""Add up what an owner has spent."""

from collections.abc import Iterator
from datetime import UTC, timedelta
from itertools import islice, takewhile

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.spend_summary import SpendSummary, day_of, sum_up
from idea_explorer.ports import Filter
from idea_explorer.usecases.deps import Deps

PAGE = 100
MAX_EXPLORATIONS = 5_000  # so that a call takes seconds, however much an owner explores


def summarize_spend(owner: str, days: int, deps: Deps) -> SpendSummary:
    now = deps.clock.now()
    today = now.astimezone(UTC).date()
    first = today - timedelta(days=days - 1)
    of_these_days = takewhile(lambda found: day_of(found) >= first, _list_newest(owner, deps))
    # one by one: a function need not hold thousands of them
    summary = sum_up(islice(of_these_days, MAX_EXPLORATIONS), today, days)
    return summary.model_copy(
        update={
            "is_partial": next(of_these_days, None) is not None,
            "daily_usd": deps.policy.daily_cost_usd,
            "left_today_usd": deps.policy.left_today(owner, now),
        }
    )


def _list_newest(owner: str, deps: Deps) -> Iterator[Exploration]:
    """The newest first."""
    cursor = None
    while True:
        page = deps.explorations.page(owner, Filter(), limit=PAGE, cursor=cursor)
        yield from page.explorations
        cursor = page.cursor
        if cursor is None:
            return
