"""Webhooks of the deployed service, while their receiver is down and when it comes back."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from idea_explorer.domain.exploration import Exploration
from tests.e2e.harness.stack import Stack
from tests.e2e.test_service import NOWHERE, stored
from tests.fakes.receiver import Receiver

NOTIFY = Path(__file__).parent / "loopback" / "notify"


@pytest.mark.slow
def test_the_workflow_tells_a_receiver_that_was_down_for_a_while(stack: Stack) -> None:
    machine, function = stack.variant("NotifyFunction", NOTIFY)
    receivers: list[Receiver] = []
    with Receiver(lambda: len(receivers[0].received) < 5, status=503) as receiver:
        receivers.append(receiver)
        url = f"https://hooks.example.com:{urlsplit(receiver.url).port}/hook"
        exploration = stored(stack, "Told when it is back", webhook_url=url)

        stack.start(exploration, machine)
        stack.wait(lambda: stack.load(exploration.id).delivery.attempts == 3)
        waiting = stack.load(exploration.id)
        stack.wait(lambda: stack.load(exploration.id).delivery.status == "delivered")

    assert (waiting.status, waiting.delivery.status) == ("completed", "pending")
    assert waiting.delivery.last_error == "The server answered 503."
    assert waiting.delivery.next_try is not None
    assert waiting.delivery.next_try > datetime.now(UTC)  # a minute; the machine here is quicker
    told = stack.load(exploration.id)
    assert (told.status, told.delivery.attempts) == ("completed", 6)
    assert len({(message.id, message.body) for message in receiver.received}) == 1
    assert len(receiver.taken) == 1
    assert json.loads(receiver.taken[0].body)["status"] == "completed"
    calls = [line for line in stack.functions.log_lines(function) if "message" in line]
    assert "webhook_not_delivered" in [line["message"] for line in calls]
    assert all(line["function_request_id"] for line in calls)


@pytest.mark.slow
def test_the_sweep_has_told_again_what_ended_outside_of_a_workflow(stack: Stack) -> None:
    poisoned = stored(stack, "Poisoned, and told again", webhook_url=NOWHERE)
    stack.send({"id": poisoned.id, "run": 9})
    stack.wait(lambda: stack.load(poisoned.id).delivery.attempts == 3)
    long_ago = datetime.now(UTC) - timedelta(hours=1)

    def overdue(exploration: Exploration) -> Exploration:
        delivery = exploration.delivery.model_copy(update={"next_try": long_ago})
        return exploration.replace(delivery=delivery)

    stack.stores.explorations.take_over(poisoned.id, overdue)

    stack.wait(lambda: stack.sweep().payload["webhooks_requested"] >= 1)  # when the index shows it

    stack.wait(lambda: stack.load(poisoned.id).delivery.attempts == 6)
    told = stack.load(poisoned.id)
    assert (told.status, told.delivery.status) == ("failed", "pending")
    assert told.delivery.next_try is not None
    assert told.delivery.next_try > datetime.now(UTC)
