"""Submitting with an Idempotency-Key by a process that is really killed before it could answer."""

import os
import signal
import time
from pathlib import Path

import pytest

from idea_explorer.domain.limits import KEY_SECONDS
from tests.fakes import forked
from tests.fakes.api import Api, Reply
from tests.fakes.submit_once import submit_once

BODY: dict[str, object] = {
    "idea": "Urban bees", "max_cost_usd": 0.5,
    "webhook_url": "https://hooks.example/ideas", "callback_secret": "hush",
}  # fmt: skip
KEY = {"Idempotency-Key": "k1"}


@pytest.fixture
def api(tmp_path: Path) -> Api:
    """After a first call that was killed."""
    first = forked.start(
        submit_once, tmp_path, BODY, KEY, streams=[0, 1, 2], env=os.environ, folder=tmp_path
    )
    assert first.wait() == -signal.SIGKILL
    api = Api(tmp_path)
    assert api.queued() == 1
    return api


def submit_once_free(api: Api, body: object) -> Reply:
    """Send it as a client does: again, as long as the first call seems to be at work."""
    for _ in range(100):
        reply = api.post("/explorations", body, headers=KEY)
        if reply.status != 409:
            break
        time.sleep(0.05)
    return reply


def test_the_second_call_answers_with_the_exploration_of_the_first(api: Api) -> None:
    [stored] = api.get("/explorations").json["explorations"]

    again = submit_once_free(api, BODY)
    third = api.post("/explorations", BODY, headers=KEY)

    assert (again.status, again.json["id"]) == (202, stored["id"])
    assert third.json == again.json
    assert api.queued() == 1
    assert api.queue.sent == [(stored["id"], 1, 0)]


def test_another_request_with_the_key_of_the_dead_call_is_refused(api: Api) -> None:
    reply = submit_once_free(api, {**BODY, "idea": "Rural bees"})

    assert (reply.status, list(reply.fields)) == (422, ["Idempotency-Key"])
    assert api.queued() == 1


def test_one_that_has_gone_on_meanwhile_is_not_sent_again(api: Api) -> None:
    [stored] = api.get("/explorations").json["explorations"]
    api.run_to(api.store.load(stored["id"]), "running")

    again = submit_once_free(api, BODY)

    assert (again.status, again.json["id"]) == (202, stored["id"])
    assert api.queue.sent == []


@pytest.mark.parametrize(("seconds", "explorations"), [(KEY_SECONDS - 1, 1), (KEY_SECONDS, 2)])
def test_a_key_is_free_again_after_a_day(api: Api, seconds: int, explorations: int) -> None:
    api.clock.pass_time(seconds)

    assert submit_once_free(api, BODY).status == 202

    assert api.queued() == explorations
