"""The routes that stop explorations and let them go on."""

from datetime import timedelta

import pytest

from idea_explorer.domain.run import Stats
from tests.fakes.api import Api
from tests.fakes.explorations import RECEIPT

# Cancel


def test_a_queued_exploration_is_cancelled_at_once(api: Api) -> None:
    queued = api.submitted()

    reply = api.post(f"/explorations/{queued.id}/cancel")

    assert (reply.status, reply.json["status"]) == (202, "cancelled")
    assert reply.json["failure"]["resume"] == f"idea resume {queued.id}"
    assert [event.type for event in api.store.read(queued.id)] == ["status_changed"]


def test_a_running_exploration_is_asked_to_stop(api: Api) -> None:
    running = api.run_to(api.submitted(), "running")

    reply = api.post(f"/explorations/{running.id}/cancel")

    assert (reply.status, reply.json["status"]) == (202, "running")
    assert reply.json["cancel_requested"] is True
    api.store.save(running)  # the worker still holds its lease


def test_cancelling_twice_is_cancelling_once(api: Api) -> None:
    queued = api.submitted()
    api.post(f"/explorations/{queued.id}/cancel")

    assert api.post(f"/explorations/{queued.id}/cancel").status == 202
    assert len(api.store.read(queued.id)) == 1


def test_what_has_ended_cannot_be_cancelled(api: Api) -> None:
    done = api.run_to(api.submitted(), "completed")

    reply = api.post(f"/explorations/{done.id}/cancel")

    assert reply.status == 409
    assert reply.error["type"] == "conflict"


# Resume


@pytest.mark.parametrize("status", ["partial", "timed_out", "failed", "cancelled"])
def test_one_that_ended_early_goes_on_in_the_next_run(api: Api, status: str) -> None:
    stats = Stats(steps=4)
    ended = api.run_to(api.submitted(), status, stats=stats, receipt=RECEIPT)  # type: ignore[arg-type]
    api.store.request_cancel(ended.id)
    api.queue.sent.clear()
    api.clock.pass_time(5)

    reply = api.post(f"/explorations/{ended.id}/resume", {"max_steps": 7, "max_cost_usd": 2})

    assert reply.status == 202
    again = api.store.load(ended.id)
    assert (again.status, again.run.number, again.run.base_steps) == ("queued", 2, 4)
    assert (again.request.max_steps, again.request.max_cost_usd) == (7, 2)
    assert again.request.deadline_seconds == ended.request.deadline_seconds
    assert (again.run.deadline_at, again.run.outcome, again.run.receipt) == (None, None, None)
    assert again.cancel_requested is False
    assert again.run.stats.steps == 4
    assert api.queue.sent == [(ended.id, 2, 0)]
    assert again.updated_at - ended.updated_at == timedelta(seconds=5)


def test_a_resume_needs_no_body(api: Api) -> None:
    partial = api.run_to(api.submitted(max_steps=3), "partial")

    assert api.post(f"/explorations/{partial.id}/resume").status == 202
    assert api.store.load(partial.id).request.max_steps == 3


def test_a_report_that_only_was_not_published_is_published_not_paid_for_again(api: Api) -> None:
    failed = api.run_to(api.submitted(), "failed", outcome="completed")

    api.post(f"/explorations/{failed.id}/resume")

    assert api.store.load(failed.id).run.outcome == "completed"


@pytest.mark.parametrize("status", ["queued", "running", "completed"])
def test_only_what_ended_early_can_be_resumed(api: Api, status: str) -> None:
    exploration = api.submitted()
    if status != "queued":
        api.run_to(exploration, status)  # type: ignore[arg-type]

    reply = api.post(f"/explorations/{exploration.id}/resume", {})

    assert reply.status == 409
    assert api.store.load(exploration.id).run.number == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"max_steps": 0}, "max_steps"),
        ({"max_cost_usd": -1}, "max_cost_usd"),
        ({"deadline_seconds": 30}, "deadline_seconds"),
        ({"idea": "other"}, "idea"),
    ],
)
def test_new_limits_are_checked_too(api: Api, body: object, field: str) -> None:
    partial = api.run_to(api.submitted(), "partial")

    reply = api.post(f"/explorations/{partial.id}/resume", body)

    assert reply.status == 422
    assert field in reply.fields
    assert api.store.load(partial.id).status == "partial"
