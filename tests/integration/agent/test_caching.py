"""What prompt caching saves, counted as the API counts it. `make tokens` prints the figures."""

import pytest

from tests.performance.caching import CASES, PAUSED, READING, SEARCHING, measure_reading


@pytest.mark.parametrize(("name", "at_most"), [(READING, 0.39), (SEARCHING, 0.53), (PAUSED, 0.53)])
def test_a_cached_exploration_costs_at_most_this_share_of_its_input(
    name: str, at_most: float
) -> None:
    bill = CASES[name]()
    assert round(bill.ratio, 2) <= at_most
    assert bill.billed.input_tokens < 100  # all but the end of each request is read or written


def test_every_request_reads_what_the_one_before_wrote_however_many_blocks_came_between() -> None:
    few = measure_reading(4, {1: 6_000, 2: 6_000})
    many = measure_reading(4, {1: 6_000, 2: 6_000}, calls=30)
    assert many.ratio == pytest.approx(few.ratio, abs=0.05)
