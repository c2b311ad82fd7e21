"""Heavy cases: many explorations at once, scarce functions, parts that die. Run by `make e2e`."""

import dataclasses
import json
from pathlib import Path

import pytest

from tests.e2e.harness.stack import Machine, Options, Stack
from tests.e2e.test_service import stored

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
EXPLORATIONS = 60
MAX_RUNNING = 5
OFFLINE = {"Provider": "offline"}  # and without a repository: what is tried here is the shell


def finish(stack: Stack, ids: list[str]) -> list[str]:
    """Wait for all; gives how each ended."""
    final = [stack.wait_until_final(exploration_id, seconds=600) for exploration_id in ids]
    return [exploration.status for exploration in final]


def test_sixty_messages_complete_a_few_at_a_time(machine: Machine, options: Options) -> None:
    few = dataclasses.replace(options, parameters={"MaxRunning": MAX_RUNNING, **OFFLINE})
    with machine.stack(few) as stack:
        ids = [stack.send({"idea": f"Idea number {n}"})[0] for n in range(EXPLORATIONS)]

        assert finish(stack, list(ids)) == ["completed"] * EXPLORATIONS

        explore = stack.named("ExploreFunction")
        assert stack.functions.most_at_once[explore] <= MAX_RUNNING
        assert stack.dead_letters() == []
        stack.wait(lambda: stack.waiting_messages() == 0)
        assert len(stack.executions()) == EXPLORATIONS


def test_one_owners_single_request_does_not_wait_for_the_many_of_others(
    machine: Machine, options: Options
) -> None:
    few = dataclasses.replace(options, parameters={"MaxRunning": 2, **OFFLINE})
    with machine.stack(few) as stack:
        many = [stored(stack, f"Idea {n}", owner=("ada", "bob")[n % 2]) for n in range(30)]
        stack.send({"id": many[0].id})
        stack.wait(lambda: len(stack.stores.admission.slots().holders) == 2)
        single = stored(stack, "A single idea", owner="eve")
        finish(stack, [exploration.id for exploration in (*many, single)])

        waits: dict[str, list[float]] = {"ada": [], "bob": [], "eve": []}
        for exploration in (*many, single):
            ended = stack.load(exploration.id)
            assert ended.run.started_at is not None
            waited = (ended.run.started_at - ended.created_at).total_seconds()
            waits[ended.owner].append(waited)
        for owner, seconds in waits.items():
            ordered = sorted(seconds)
            p50, p95 = ordered[len(ordered) // 2], ordered[int(0.95 * (len(ordered) - 1))]
            print(f"{owner}: {len(ordered)} explorations, waits p50 {p50:.1f} s, p95 {p95:.1f} s")
        assert waits["eve"][0] < sorted(waits["ada"])[5]
        assert waits["eve"][0] < sorted(waits["bob"])[5]


def test_the_hard_cap_on_explore_delays_and_loses_nothing(
    machine: Machine, options: Options
) -> None:
    capped = dataclasses.replace(
        options,
        parameters={**OFFLINE, "ExploreReservedConcurrency": 1},
        concurrency=101,  # a small account can reserve none
    )
    with machine.stack(capped) as stack:
        ids = [stack.send({"idea": f"Idea number {n}"})[0] for n in range(4)]

        assert finish(stack, list(ids)) == ["completed"] * 4

        assert stack.functions.most_at_once[stack.named("ExploreFunction")] == 1


def test_a_dispatcher_that_dies_is_made_good_by_the_next_delivery(
    machine: Machine, options: Options, tmp_path: Path
) -> None:
    """It dies between marking the exploration and starting it: the worst moment."""
    quick = dataclasses.replace(
        options,
        parameters=OFFLINE,
        environment={**options.environment, "DIE_ONCE": str(tmp_path / "died")},
        visibility_seconds=2,
        code={"DispatchFunction": HERE / "broken" / "dying_dispatch"},
    )
    with machine.stack(quick) as stack:
        exploration = stored(stack, "Started by the second delivery")
        stack.send(json.dumps({"id": exploration.id, "run": 1}))

        assert stack.wait_until_final(exploration.id).status == "completed"

        assert (tmp_path / "died").exists()


def test_what_always_fails_ends_in_the_dead_letter_queue_by_itself(
    machine: Machine, options: Options
) -> None:
    """Without our doing: the queue gives up a message whose function never answers for it."""
    broken = dataclasses.replace(
        options,
        visibility_seconds=0,
        code={"DispatchFunction": HERE / "broken" / "crashing_dispatch"},
    )
    with machine.stack(broken) as stack:
        stack.send("anything")

        stack.wait(lambda: "anything" in stack.dead_letters())
