"""`idea spend`: what explorations cost, by the day on which they began and by toolset."""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from idea_explorer.api.views import ExplorationList, Summary
from idea_explorer.cli.output import print_json, terminal_width
from idea_explorer.cli.streams import warn
from idea_explorer.cli.targets import Target, choose_target
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.text import pluralize

MAX_DAYS = 365
MAX_OPERATOR_DAYS = 30  # a deployment remembers 35
PAGE = 100
MAX_BAR = 40
MIN_BAR = 10
DEFAULT_WIDTH = 80


def run(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.days <= MAX_DAYS:
        raise InvalidRequestError(f"--days must be between 1 and {MAX_DAYS}.")
    today = datetime.now(UTC).date()
    first = today - timedelta(days=arguments.days - 1)
    rows = [*_list_since(first, choose_target(arguments))]
    days = _sum(rows, lambda row: row.created_at.astimezone(UTC).date().isoformat())
    toolsets = _sum(rows, lambda row: row.toolset)
    total = sum(days.values())
    unknown = sum(row.cost_usd is None and row.steps_completed > 0 for row in rows)
    if arguments.json:
        print_json(
            {
                "since": first.isoformat(),
                "explorations": len(rows),
                "cost_usd": round(total, 6),
                "without_price": unknown,
                "days": days,
                "toolsets": toolsets,
            }
        )
        return 0
    if arguments.quiet:
        print(f"{total:.4f}")
        return 0
    count = pluralize(len(rows), "exploration")
    print(f"${total:.2f} for {count} since {first.isoformat()} (UTC)")
    every_day = {day: days.get(day, 0.0) for day in _list_days(first, today, days)}
    for title, sums in (("by day", every_day), ("by toolset", toolsets)):
        if rows:
            print(f"\n{title}")
            for line in format_bars(sums, terminal_width() or DEFAULT_WIDTH):
                print(line)
    if unknown:
        warn(f"{pluralize(unknown, 'exploration')} used a model without a known price.")
    return 0


def run_for_owners(arguments: argparse.Namespace) -> int:
    """What each owner of a deployment spent and has reserved, for its operator."""
    from idea_explorer.cli.admin import find_owners, find_table
    from idea_explorer.wiring.cloud import cloud_spend

    if not 1 <= arguments.days <= MAX_OPERATOR_DAYS:
        raise InvalidRequestError(f"--days must be between 1 and {MAX_OPERATOR_DAYS}.")
    spend = cloud_spend(find_table(arguments.stack))
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in reversed(range(arguments.days))]
    owners = find_owners(arguments.stack)
    spent = {owner: {day.isoformat(): spend.spent(owner, day) for day in days} for owner in owners}
    by_owner = {owner: round(sum(by_day.values()), 6) for owner, by_day in spent.items()}
    by_day = {
        day.isoformat(): round(sum(spent[owner][day.isoformat()] for owner in owners), 6)
        for day in days
    }
    if arguments.json:
        print_json({"owners": by_owner, "days": by_day})
        return 0
    total, width = sum(by_owner.values()), terminal_width() or DEFAULT_WIDTH
    print(f"${total:.2f} for {pluralize(len(owners), 'owner')} since {days[0].isoformat()} (UTC)")
    for title, sums in (("by day", by_day), ("by owner", by_owner)):
        print(f"\n{title}")
        for line in format_bars(sums, width):
            print(line)
    return 0


def format_bars(sums: Mapping[str, float], width: int) -> Iterator[str]:
    """A line for each sum, with a bar as long as its share of the largest."""
    longest = max(map(len, sums), default=0)
    most = max(sums.values(), default=0.0)
    room = max(MIN_BAR, min(MAX_BAR, width - longest - 14))
    for name, usd in sums.items():
        length = round(room * usd / most) if most else 0
        bar = "█" * max(length, 1) if usd else ""
        yield f"  {name:<{longest}}  {f'${usd:.2f}':>8}  {bar}".rstrip()


def _list_days(first: date, last: date, spent: Mapping[str, float]) -> Iterator[str]:
    """From the first day on which something was spent."""
    day = max(first, date.fromisoformat(min(spent))) if spent else last
    while day <= last:
        yield day.isoformat()
        day += timedelta(days=1)


def _list_since(first: date, target: Target) -> Iterator[Summary]:
    """Newest first, so that the first one that is too old ends it."""
    cursor: str | None = None
    while True:
        query = {"limit": PAGE, **({"cursor": cursor} if cursor else {})}
        page = ExplorationList.model_validate(target.list_explorations(**query))
        for row in page.explorations:
            if row.created_at.astimezone(UTC).date() < first:
                return
            yield row
        cursor = page.cursor
        if cursor is None:
            return


def _sum(rows: Sequence[Summary], key: Callable[[Summary], str]) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for row in rows:
        sums[key(row)] += row.cost_usd or 0.0
    return {name: round(sums[name], 6) for name in sorted(sums)}
