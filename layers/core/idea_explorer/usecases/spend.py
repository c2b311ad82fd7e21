"""Add up what an owner has spent."""

from datetime import UTC, timedelta

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.spend_summary import SpendSummary, day_of, sum_up
from idea_explorer.ports import Filter
from idea_explorer.usecases.deps import Deps

PAGE = 100
MAX_PAGES = 10  # so that a call stays short, however much an owner explores


def summarize_spend(owner: str, days: int, deps: Deps) -> SpendSummary:
    now = deps.clock.now()
    today = now.astimezone(UTC).date()
    first = today - timedelta(days=days - 1)
    found: list[Exploration] = []
    cursor = None
    for _ in range(MAX_PAGES):
        page = deps.explorations.page(owner, Filter(), limit=PAGE, cursor=cursor)
        found += page.explorations
        is_older = bool(found) and day_of(found[-1]) < first  # newest first, so the rest is older
        cursor = None if is_older else page.cursor
        if cursor is None:
            break
    summary = sum_up(found, today, days)
    return summary.model_copy(
        update={
            "is_partial": cursor is not None,
            "daily_usd": deps.policy.daily_cost_usd,
            "left_today_usd": deps.policy.left_today(owner, now),
        }
    )
