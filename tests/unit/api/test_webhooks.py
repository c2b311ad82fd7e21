"""The routes that send a webhook's message."""

import json

import pytest

from idea_explorer.domain.errors import NetworkError
from idea_explorer.domain.run import Stats
from tests.fakes.api import Api

HOOK = {"webhook_url": "https://hooks.example/ideas", "callback_secret": "s3cret-value"}


def test_a_test_message_is_sent_signed(api: Api) -> None:
    reply = api.post("/webhooks/test", HOOK)

    ((url, body, headers),) = api.webhooks.posted
    assert (reply.status, reply.json["status"]) == (200, "delivered")
    assert url == HOOK["webhook_url"]
    assert json.loads(body)["type"] == "webhook_test"
    assert headers["X-Signature"].startswith("sha256=")
    assert HOOK["callback_secret"] not in reply.text + repr(api.log.lines)


def test_a_receiver_that_fails_is_told_of(api: Api) -> None:
    api.webhooks.failure = NetworkError("The server could not be reached.")

    reply = api.post("/webhooks/test", HOOK)

    assert (reply.status, reply.json["status"]) == (200, "failed")
    assert "could not be reached" in reply.json["last_error"]


@pytest.mark.parametrize("url", ["http://a.example", "https://", "ftp://a.example", 7, None])
def test_a_strange_address_is_refused(api: Api, url: object) -> None:
    reply = api.post("/webhooks/test", {"webhook_url": url})

    assert reply.status == 422
    assert api.webhooks.posted == []


def test_a_message_is_sent_again(api: Api) -> None:
    done = api.run_to(api.submitted(**HOOK), "completed", stats=Stats(steps=1))
    api.webhooks.failure = NetworkError("The server could not be reached.")
    undelivered = api.post(f"/explorations/{done.id}/webhook").json
    assert (undelivered["status"], undelivered["attempts"]) == ("pending", 3)  # its workflow will
    assert undelivered["last_error"] == "The server could not be reached."
    api.webhooks.failure = None

    reply = api.post(f"/explorations/{done.id}/webhook")

    assert reply.json["status"] == "delivered"
    assert api.get(f"/explorations/{done.id}").json["delivery"]["status"] == "delivered"
    assert HOOK["callback_secret"] not in reply.text


def test_what_has_no_webhook_or_no_end_is_not_told(api: Api) -> None:
    silent = api.run_to(api.submitted(), "completed")
    running = api.run_to(api.submitted(**HOOK), "running")

    for exploration in (silent, running):
        assert api.post(f"/explorations/{exploration.id}/webhook").status == 409
    assert api.post(f"/explorations/{silent.id}/webhook", owner="bob").status == 404
