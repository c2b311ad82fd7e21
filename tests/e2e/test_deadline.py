"""What happens at the deadline, also to a function that starts slowly or does not keep it."""

from pathlib import Path

import pytest

from tests.e2e.harness.minds import Minds
from tests.e2e.harness.stack import Stack
from tests.e2e.test_service import FIRST, history, slowly, stored
from tests.fakes.anthropic_turns import answer, text

CLOCKLESS = Path(__file__).parent / "broken" / "clockless"
SLOW_START = Path(__file__).parent / "broken" / "slow_start"


@pytest.mark.slow
def test_a_cold_run_of_full_length_ends_with_its_report(stack: Stack, minds: Minds) -> None:
    """The Task's timeout runs while the function starts, so the run has only what is left of it."""
    report = "# A report\n\n" + "word " * 20_000
    minds.about("With a slow start", answer(text(report), drip=0.3))
    machine, _ = stack.variant("ExploreFunction", SLOW_START)
    exploration = stored(stack, "With a slow start", deadline_seconds=30)

    stack.start(exploration, machine)

    final = stack.wait_until_final(exploration.id)
    assert (final.status, final.run.stats.stop_reason) == ("partial", "deadline")
    assert "word word" in stack.stores.reports.load_report(exploration.id)
    assert final.run.deadline_at is not None
    assert final.run.finished_at is not None
    assert final.run.finished_at < final.run.deadline_at


@pytest.mark.slow
def test_a_function_that_ignores_its_clock_is_timed_out_and_writes_nothing_more(
    stack: Stack, minds: Minds
) -> None:
    minds.about("Without a clock", FIRST, slowly(words=160, drip=0.25))
    machine, function = stack.variant("ExploreFunction", CLOCKLESS)
    warm_up = stored(stack, "A warm-up")  # the clock runs in a cold start too
    stack.start(warm_up, machine)
    stack.wait_until_final(warm_up.id)
    exploration = stored(stack, "Without a clock", deadline_seconds=4)

    stack.start(exploration, machine)

    final = stack.wait_until_final(exploration.id)
    assert final.status == "timed_out"
    assert final.run.receipt is not None
    assert final.run.receipt.code == "TIMEOUT"
    assert final.run.receipt.resume == f"idea resume {exploration.id}"
    assert not final.run.receipt.has_partial_text  # what was streamed is lost with the function
    told = history(stack, exploration.id)

    stack.wait(lambda: stack.functions.running(function) == 0)
    assert "LeaseLostError" in stack.functions.log(function)
    assert stack.load(exploration.id) == final
    assert history(stack, exploration.id) == told
