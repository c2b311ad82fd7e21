"""The core of `make chaos`: a few kills, and the proof that a planted bug is found."""

import pytest

from tests.chaos.run import run


def test_a_run_killed_anywhere_is_taken_up_again() -> None:
    tally = run(seeds=1, every=24, jobs=1)
    assert tally.violations == []
    assert sum(tally.kills.values()) >= 4


@pytest.mark.slow
def test_storing_an_answer_too_late_is_found_out() -> None:
    # dense enough to die between an answer and its storing, wherever that comes to lie
    tally = run(seeds=1, every=5, jobs=1, planted_bug=True)
    assert tally.violations
