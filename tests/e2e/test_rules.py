"""AWS's rules at work on whole stacks, with real processes and the real SDK between them."""

import dataclasses
import json
from pathlib import Path

import pytest

from tests.e2e.harness.account import InvalidParameterValueError
from tests.e2e.harness.iam import POLICY
from tests.e2e.harness.lineage import MAX_RUNS, count_runs
from tests.e2e.harness.services import Rules
from tests.e2e.harness.stack import Machine, Options, Stack

pytestmark = pytest.mark.slow
LOOPING = Path(__file__).parent / "broken" / "looping"
SEND = [{"actions": ["sqs:SendMessage"], "resources": ["*"]}]


def test_a_function_that_feeds_itself_is_stopped(machine: Machine, options: Options) -> None:
    """That its message ends as a dead letter is tested without processes: it takes the queue a while."""
    looping = dataclasses.replace(
        options,
        code={"DispatchFunction": LOOPING},
        environment={**options.environment, POLICY: json.dumps(SEND)},
    )
    with machine.stack(looping) as stack:
        stack.send("round and round")
        dispatch = stack.named("DispatchFunction")
        stack.wait(lambda: stack.recursive_drops() == {dispatch: 1})

        assert len(stack.functions.invocations[dispatch]) == MAX_RUNS
        assert stack.waiting_messages() == 1


def runs_behind_the_announcement(stack: Stack) -> int:
    """How many runs of dispatch the message of a free slot has behind it."""
    dispatch = stack.named("DispatchFunction")
    (exploration_id,) = stack.send({"idea": "Followed through the workflow"})
    assert stack.wait_until_final(exploration_id).status == "completed"
    stack.wait(lambda: stack.waiting_messages() == 0)
    records = [
        record for event in stack.functions.invocations[dispatch] for record in event["Records"]
    ]
    (announcement,) = [record for record in records if exploration_id in record["body"]]
    return count_runs(announcement["attributes"]["AWSTraceHeader"], dispatch)


def test_a_chain_ends_at_the_workflow_unless_the_rules_say_otherwise(
    machine: Machine, options: Options, tmp_path: Path
) -> None:
    offline = dataclasses.replace(options, parameters={"Provider": "offline"})
    strict = Machine(tmp_path, Rules(lineage_through_workflows=True))
    try:
        with machine.stack(offline) as lenient_stack, strict.stack(offline) as strict_stack:
            assert runs_behind_the_announcement(lenient_stack) == 0
            assert runs_behind_the_announcement(strict_stack) == 1
    finally:
        strict.close()


def test_a_stack_that_reserves_what_the_account_cannot_spare_is_not_created(
    machine: Machine, options: Options
) -> None:
    greedy = dataclasses.replace(
        options, parameters={**options.parameters, "ExploreReservedConcurrency": 5}
    )

    with pytest.raises(InvalidParameterValueError), machine.stack(greedy):
        pass
