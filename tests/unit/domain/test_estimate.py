"""Ranges: how they are learned from past runs, and how a person reads them."""

import pytest

from idea_explorer.domain.estimate import (
    Range,
    format_dollars,
    format_estimate,
    format_minutes,
    range_from_past,
)
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.typical_run import BYTES_PER_TOKEN, LONG, SHORT, describe_run

TABLE = Range(low=5.0, high=20.0)


def test_past_runs_move_the_range_to_where_they_were() -> None:
    ratios = [0.2, 0.21, 0.19, 0.22, 0.18]
    few, many = (range_from_past(ratios * n, TABLE) for n in (1, 20))
    for told in (few, many):
        assert told.low < min(ratios) * TABLE.middle
        assert told.high > max(ratios) * TABLE.middle
    assert few.middle < TABLE.low  # the table was far off
    assert many.high / many.low < TABLE.high / TABLE.low < few.high / few.low


def test_runs_that_were_all_alike_still_leave_a_range() -> None:
    told = range_from_past([1.0] * 100, TABLE)
    assert told.low < TABLE.middle < told.high
    assert told.high / told.low > 1.3


def test_the_fewer_runs_the_wider_the_range() -> None:
    few, many = (
        range_from_past([2 ** (n / half - 1) for n in range(2 * half + 1)], TABLE)
        for half in (2, 20)
    )
    assert few.high / few.low > many.high / many.low


def test_one_odd_run_among_many_does_not_stretch_the_range() -> None:
    with_it, without = (
        range_from_past([*[0.9, 1.0, 1.1] * 8, *odd], TABLE) for odd in ([50.0], [])
    )
    assert with_it.high < 2 * without.high
    assert with_it.low < without.low  # nor does it move away from the others


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.1234, 0.6171, "$0.12 to $0.62"),
        (0.0061, 0.0308, "$0.006 to $0.031"),
        (0.0, 0.0, "$0.00"),
        (1.999, 2.0, "$1.99 to $2.00"),
        (2.0, 2.0, "$2.00"),
    ],
)
def test_dollars_are_rounded_outwards(low: float, high: float, told: str) -> None:
    assert format_dollars(Range(low=low, high=high)) == told


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.1, 0.9, "less than a minute"),
        (0.4, 2.0, "up to 2 minutes"),
        (1.2, 4.1, "1 to 5 minutes"),
    ],
)
def test_minutes_are_rounded_outwards(low: float, high: float, told: str) -> None:
    assert format_minutes(Range(low=low, high=high)) == told


def test_without_a_price_tokens_are_told() -> None:
    told = format_estimate(
        None, Range(low=12_345, high=98_765), Range(low=1, high=2), basis="from X", max_cost_usd=2.0
    )
    assert told == (
        "12,000 to 99,000 tokens of a model whose price is not known, 1 to 2 minutes, from X"
    )


def test_what_is_read_before_comes_from_the_cache_and_what_is_new_is_written_to_it() -> None:
    run = describe_run(ExploreRequest(idea="Tea"), 10_000, LONG)
    written = 0
    for call in run.calls:
        assert call.cache_read_tokens == written
        written += call.cache_write_tokens
    assert run.calls[0].cache_write_tokens == int(10_000 / BYTES_PER_TOKEN[LONG])


def test_a_deep_run_pays_for_its_branches_and_waits_for_them_once() -> None:
    run = describe_run(ExploreRequest(idea="Tea", depth="deep"), 10_000, LONG)
    alone = describe_run(ExploreRequest(idea="Tea", max_steps=6), 10_000, LONG)
    searches = [sum(call.searches for call in one.calls) for one in (run, alone)]
    assert searches[0] == 4 * searches[1] > 0
    assert alone.seconds < run.seconds < 2.5 * alone.seconds


def test_each_depth_takes_more_than_the_one_before() -> None:
    runs = [
        describe_run(ExploreRequest(idea="Tea", depth=depth), 10_000, size)
        for size in (SHORT, LONG)
        for depth in ("quick", "standard", "deep")
    ]
    tokens = [run.tokens for run in runs]
    assert tokens[:3] == sorted(tokens[:3])
    assert tokens[3:] == sorted(tokens[3:])


def test_a_toolset_that_does_not_search_pays_for_no_search() -> None:
    run = describe_run(ExploreRequest(idea="Tea", toolset="discover"), 10_000, LONG)
    assert sum(call.searches for call in run.calls) == 0
    assert run.verification.total_tokens == 0
