"""`idea spend`: what explorations cost, by the day on which they began and by toolset."""

import argparse
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import dropwhile

from idea_explorer.cli.output import print_json, terminal_width
from idea_explorer.cli.streams import say, warn
from idea_explorer.cli.targets import choose_target
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.spend_summary import MAX_DAYS, SpendSummary
from idea_explorer.domain.text import pluralize

MAX_OPERATOR_DAYS = 30  # a deployment remembers 35
MAX_BAR = 40
MIN_BAR = 10
DEFAULT_WIDTH = 80


def run(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.days <= MAX_DAYS:
        raise InvalidRequestError(f"--days must be between 1 and {MAX_DAYS}.")
    found = choose_target(arguments).spend(arguments.days)
    if arguments.json:
        print_json(_build_json(found))
        return 0
    if arguments.quiet:
        print(f"{found.total_usd:.4f}")
    else:
        _draw(found)
    if found.is_partial:
        warn("There are more explorations in these days than could be added up.")
    if found.without_price and not arguments.quiet:
        unknown = pluralize(found.without_price, "exploration")
        warn(f"{unknown} used a model without a known price.")
    return 0


def _build_json(found: SpendSummary) -> JsonObject:
    return {
        "since": found.days[0].date.isoformat(),
        "explorations": _count(found),
        "cost_usd": round(found.total_usd, 6),
        "without_price": found.without_price,
        "is_partial": found.is_partial,
        "days": {day.date.isoformat(): round(day.usd, 6) for day in found.days if day.explorations},
        "toolsets": dict(sorted((line.toolset, round(line.usd, 6)) for line in found.toolsets)),
    }


def _draw(found: SpendSummary) -> None:
    """The sum, then bars: for every day since the first with an exploration, and for every toolset."""
    count, since = _count(found), found.days[0].date.isoformat()
    at_least = "at least " if found.is_partial else ""
    explorations = pluralize(count, "exploration")
    say(f"{at_least}${found.total_usd:.2f} for {explorations} since {since} (UTC)")
    if not count:
        return
    every_day = dropwhile(lambda day: not day.explorations, found.days)
    by_day = {day.date.isoformat(): day.usd for day in every_day}
    by_toolset = {line.toolset: line.usd for line in found.toolsets}
    for title, sums in (("by day", by_day), ("by toolset", by_toolset)):
        print(f"\n{title}")
        for line in format_bars(sums, terminal_width() or DEFAULT_WIDTH):
            print(line)


def _count(found: SpendSummary) -> int:
    return sum(day.explorations for day in found.days)


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
    say(f"${total:.2f} for {pluralize(len(owners), 'owner')} since {days[0].isoformat()} (UTC)")
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
