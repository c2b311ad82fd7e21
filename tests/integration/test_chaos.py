"""The core of `make chaos`: a few kills, and the proof that a planted bug is found."""

import pytest

from tests.chaos.run import run, run_share
from tests.chaos.scenarios import (
    APPROVED_PLAN,
    DEEP_RUN,
    REJECTED_PLAN,
    SCENARIOS,
    UNDECIDED_PLAN,
    Scenario,
)


def test_a_run_killed_anywhere_is_taken_up_again() -> None:
    tally = run(seeds=1, every=16, jobs=1)
    assert tally.violations == []
    assert sum(tally.kills.values()) >= 4


@pytest.mark.slow
def test_a_deep_run_killed_anywhere_is_taken_up_again_with_its_branches() -> None:
    deep = SCENARIOS.index(DEEP_RUN)
    tally = run_share(range(deep, deep + 1), every=12, planted_bug=False)
    assert tally.violations == []
    assert sum(tally.kills.values()) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [APPROVED_PLAN, REJECTED_PLAN, UNDECIDED_PLAN])
def test_a_run_killed_while_its_plan_is_decided_on_ends_as_it_would_have(
    scenario: Scenario,
) -> None:
    """Before and after every side effect of the requests, the decisions and their application."""
    number = SCENARIOS.index(scenario)
    tally = run_share(range(number, number + 1), every=1, planted_bug=False)
    assert tally.violations == []
    places = {
        f"{when} approvals.{what}"
        for when in ("before", "after")
        for what in ("request_approval", "decide")
    }
    assert places <= {*tally.kills}


@pytest.mark.slow
def test_storing_an_answer_too_late_is_found_out() -> None:
    # dense enough to die between an answer and its storing, wherever that comes to lie
    tally = run(seeds=1, every=5, jobs=1, planted_bug=True)
    assert tally.violations
