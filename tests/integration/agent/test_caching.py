"""What prompt caching saves, counted as the API counts it. `make benchmark` prints the figures."""

import pytest

from tests.performance.caching import CASES, measure

FIVE = "five steps, 25,000 tokens read in the first two"


def test_five_steps_cost_at_most_two_fifths_of_their_input() -> None:
    steps, tokens_read, calls = CASES[FIVE]
    bill = measure(steps, tokens_read, calls=calls)
    assert bill.ratio <= 0.40
    assert bill.billed.input_tokens < 100  # all but the end of each request is read or written


def test_every_request_reads_what_the_one_before_wrote_however_many_blocks_came_between() -> None:
    few = measure(4, {1: 6_000, 2: 6_000})
    many = measure(4, {1: 6_000, 2: 6_000}, calls=30)
    assert many.ratio == pytest.approx(few.ratio, abs=0.05)
