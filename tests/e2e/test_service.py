"""The deployed service from end to end, with only AWS, Anthropic and GitHub replaced."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.request import ExploreRequest
from tests.e2e.conftest import ANTHROPIC_KEY, GITHUB_TOKEN
from tests.e2e.harness.minds import REPORT, Minds
from tests.e2e.harness.stack import Stack
from tests.fakes.anthropic_turns import Turn, answer, pending_web_search, text
from tests.fakes.anthropic_turns import web_search_result as found

FIRST = answer(text("# First findings\n\nTwo hives."), pending_web_search("urban bees"))

NOWHERE = "https://hooks.invalid/ideas"  # a name that nobody has: the attempt is what can be seen


def slowly(*, words: int = 2_000, drip: float = 0.5) -> Turn:
    """An answer that takes its time: long enough to be killed, stopped or too late."""
    return answer(found([]), text(" ".join(["word"] * words)), drip=drip)


def stored(
    stack: Stack,
    idea: str,
    *,
    owner: str = "ada",
    age: timedelta = timedelta(),
    **request: Any,
) -> Exploration:
    """A queued exploration that no message tells of."""
    at = datetime.now(UTC) - age
    wanted = ExploreRequest(idea=idea, **{"deadline_seconds": 60, **request})
    exploration = Exploration.new(wanted, owner, at=at)
    assert stack.stores.explorations.create(exploration)
    return exploration


def history(stack: Stack, exploration_id: ExplorationId) -> list[str]:
    return [event.data for event in stack.stores.events.read(exploration_id)]


@pytest.mark.long
def test_a_raw_queue_message_ends_completed(stack: Stack) -> None:
    (exploration_id,) = stack.send({"idea": "Bees on roofs", "deadline_seconds": 60})

    final = stack.wait_until_final(exploration_id)

    assert final.status == "completed"
    assert final.owner == "queue"
    assert stack.stores.reports.load_report(exploration_id) == REPORT
    assert stack.wait_for_execution(exploration_id) == "SUCCEEDED"


@pytest.mark.long
def test_the_same_message_five_times_runs_once(stack: Stack, minds: Minds) -> None:
    minds.about("Only once", answer(text(REPORT)))

    ids = stack.send({"idea": "Only once", "dedup_key": "once"}, times=5)

    final = stack.wait_until_final(ids[0])
    assert len(set(ids)) == 1
    stack.wait(lambda: stack.waiting_messages() == 0)
    assert minds.calls["Only once"] == 1
    assert (final.status, final.run.number) == ("completed", 1)
    assert [e["name"] for e in stack.executions()].count(f"{ids[0]}-1") == 1


@pytest.mark.slow
def test_an_execution_stopped_by_hand_is_settled(stack: Stack, minds: Minds) -> None:
    minds.about("Stopped by hand", FIRST, slowly())
    (exploration_id,) = stack.send({"idea": "Stopped by hand"})
    stack.wait(lambda: minds.calls.get("Stopped by hand") == 2)

    stack.stop_execution(exploration_id)

    final = stack.load(exploration_id)
    assert final.status == "cancelled"
    assert final.run.receipt is not None
    assert final.run.receipt.message == "The run was stopped; the work so far is kept."
    assert not final.run.receipt.has_partial_text  # what is said beside a call is thinking


@pytest.mark.slow
def test_whoever_asked_is_told_of_an_end_outside_of_the_workflow(
    stack: Stack, minds: Minds
) -> None:
    minds.about("Stopped and told", FIRST, slowly())
    (stopped,) = stack.send({"idea": "Stopped and told", "webhook_url": NOWHERE})
    stack.wait(lambda: minds.calls.get("Stopped and told") == 2)
    poisoned = stored(stack, "Poisoned and told", webhook_url=NOWHERE)

    stack.stop_execution(stopped)
    stack.send({"id": poisoned.id, "run": 9})

    for told in (stopped, poisoned.id):
        stack.wait(lambda told=told: stack.load(told).delivery.attempts == 3)  # type: ignore[misc]


@pytest.mark.slow
def test_a_message_lost_before_the_queue_is_swept_up(stack: Stack) -> None:
    lost = stored(stack, "A lost idea", age=timedelta(hours=1))

    assert stack.sweep().payload.items() >= {"started": 1, "settled": 0}.items()

    assert stack.wait_until_final(lost.id).status == "completed"


@pytest.mark.long
def test_a_function_killed_in_its_run_is_tried_again_and_completes(
    stack: Stack, minds: Minds
) -> None:
    minds.about("Killed in its run", FIRST, slowly())
    (exploration_id,) = stack.send({"idea": "Killed in its run"})
    stack.wait(lambda: minds.calls.get("Killed in its run") == 2)
    minds.about("Killed in its run", FIRST, answer(found([]), text(REPORT)))

    assert stack.kill("ExploreFunction") == 1

    final = stack.wait_until_final(exploration_id)
    assert final.status == "completed"
    assert minds.calls["Killed in its run"] == 3  # only the call that was cut off is paid again
    assert final.run.stats.steps == 2
    assert stack.wait_for_execution(exploration_id) == "SUCCEEDED"


@pytest.mark.parametrize("body", ["not json", '{"idea": "x", "colour": "blue"}'])
def test_a_poison_message_is_set_aside(stack: Stack, body: str) -> None:
    stack.send(body)

    stack.wait(lambda: body in stack.dead_letters())


@pytest.mark.long
def test_a_poison_message_fails_the_exploration_it_names(stack: Stack) -> None:
    named = stored(stack, "Named by a broken message")
    body = json.dumps({"id": named.id, "run": "one"})

    stack.send(body)

    assert stack.wait_until_final(named.id).status == "failed"
    stack.wait(lambda: body in stack.dead_letters())


@pytest.mark.long
def test_every_line_of_a_run_names_the_exploration_and_none_a_secret(stack: Stack) -> None:
    (exploration_id,) = stack.send({"idea": "A logged idea about bees"})
    stack.wait_until_final(exploration_id)

    name = stack.named("ExploreFunction")
    lines = [
        line
        for line in stack.functions.log_lines(name)
        if line.get("explorationId") == exploration_id
    ]
    assert "step_finished" in [line["message"] for line in lines]
    assert all(line["correlation_id"] == exploration_id for line in lines)
    everything = stack.logs()
    assert ANTHROPIC_KEY not in everything
    assert GITHUB_TOKEN not in everything
    assert "A logged idea" not in everything
