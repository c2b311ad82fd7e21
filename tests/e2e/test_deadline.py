"""What happens at the deadline to a function that does not keep it."""

import dataclasses
from pathlib import Path

from tests.e2e.harness.minds import Minds
from tests.e2e.harness.stack import Machine, Options
from tests.e2e.test_service import FIRST, history, slowly

CLOCKLESS = Path(__file__).parent / "broken" / "clockless"


def test_a_function_that_ignores_its_clock_is_timed_out_and_writes_nothing_more(
    machine: Machine, options: Options, minds: Minds
) -> None:
    minds.about("Without a clock", FIRST, slowly(drip=0.2))
    broken = dataclasses.replace(options, code={"ExploreFunction": CLOCKLESS})
    with machine.stack(broken) as stack:
        stack.wait_until_final(
            stack.send({"idea": "A warm-up"})[0]
        )  # the clock runs in a cold start
        (exploration_id,) = stack.send({"idea": "Without a clock", "deadline_seconds": 5})

        final = stack.wait_until_final(exploration_id)

        assert final.status == "timed_out"
        assert final.receipt is not None
        assert final.receipt.code == "TIMEOUT"
        assert final.receipt.resume == f"idea resume {exploration_id}"
        assert "Two hives." in stack.stores.reports.load_report(exploration_id)
        assert stack.wait_for_execution(exploration_id) == "SUCCEEDED"
        told = history(stack, exploration_id)

        explore = stack.named("ExploreFunction")
        stack.wait(lambda: stack.functions.running(explore) == 0)
        assert "LeaseLostError" in stack.functions.log(explore)
        assert stack.load(exploration_id) == final
        assert history(stack, exploration_id) == told
