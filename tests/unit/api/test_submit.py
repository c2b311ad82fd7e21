"""The route that starts explorations: what it takes, what it refuses, and what it starts once."""

from pathlib import Path

import pytest

from idea_explorer.api.http import MAX_BODY_BYTES
from idea_explorer.domain.errors import NetworkError
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.run import Stats
from tests.fakes.api import Api


class BrokenQueue:
    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        raise NetworkError("The queue could not be reached.")

    def dead_letter(self, body: str, reason: str) -> None:
        raise NetworkError("The queue could not be reached.")


# Submit


def test_a_submitted_idea_is_stored_and_sent_to_the_queue(api: Api) -> None:
    reply = api.post("/explorations", {"idea": "  Urban bees  ", "mode": "exploration"})

    assert reply.status == 202
    stored = api.store.load(reply.json["id"])
    assert (stored.owner, stored.status, stored.request.idea) == ("ada", "queued", "Urban bees")
    assert reply.json["status"] == "queued"
    assert api.queue.sent == [(stored.id, 1, 0)]


def test_a_queue_that_fails_loses_nothing(tmp_path: Path) -> None:
    api = Api(tmp_path, BrokenQueue())

    reply = api.post("/explorations", {"idea": "Urban bees"})

    assert reply.status == 202
    assert api.store.load(reply.json["id"]).status == "queued"
    assert api.log.of("enqueue_failed")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "idea"),
        ({"idea": ""}, "idea"),
        ({"idea": "\ufeff \n"}, "idea"),
        ({"idea": "x" * 10_001}, "idea"),
        ({"idea": 7}, "idea"),
        ({"idea": None}, "idea"),
        ({"idea": ["bees"]}, "idea"),
        ({"idea": "bees", "toolset": "shell"}, "toolset"),
        ({"idea": "bees", "mode": "poetry"}, "mode"),
        ({"idea": "bees", "mode": "../common"}, "mode"),
        ({"idea": "bees", "model": "gpt"}, "model"),
        ({"idea": "bees", "context": "x" * 50_001}, "context"),
        ({"idea": "bees", "update": "yes"}, "update"),
        ({"idea": "bees", "continue_from": "abc"}, "continue_from"),
        ({"idea": "bees", "if_exists": "maybe"}, "if_exists"),
        ({"idea": "bees", "max_cost_usd": 0}, "max_cost_usd"),
        ({"idea": "bees", "max_cost_usd": "1"}, "max_cost_usd"),
        ({"idea": "bees", "max_cost_usd": True}, "max_cost_usd"),
        ({"idea": "bees", "max_steps": 21}, "max_steps"),
        ({"idea": "bees", "max_steps": 2.5}, "max_steps"),
        ({"idea": "bees", "deadline_seconds": 59}, "deadline_seconds"),
        ({"idea": "bees", "deadline_seconds": 841}, "deadline_seconds"),
        ({"idea": "bees", "webhook_url": "http://example.com"}, "webhook_url"),
        ({"idea": "bees", "webhook_url": "https://"}, "webhook_url"),
        ({"idea": "bees", "webhook_url": "https://a b.example"}, "webhook_url"),
        ({"idea": "bees", "webhook_url": "https://a.example:99999"}, "webhook_url"),
        ({"idea": "bees", "callback_secret": "x" * 257}, "callback_secret"),
        ({"idea": "bees", "callback_secret": "hush"}, "callback_secret"),
        ({"idea": "bees", "repository": "no-slash"}, "repository"),
        ({"idea": "bees", "ref": "-flag"}, "ref"),
        ({"idea": "bees", "files": ["f"] * 21}, "files"),
        ({"idea": "bees", "files": "f"}, "files"),
        ({"idea": "bees", "budget": 3}, "budget"),
        ([], ""),
        ("bees", ""),
        (None, ""),
    ],
)
def test_a_field_that_is_not_valid_is_named_and_nothing_is_stored(
    api: Api, body: object, field: str
) -> None:
    reply = api.post("/explorations", b"null" if body is None else body)

    assert reply.status == 422
    assert reply.error["type"] == "validation"
    assert field in reply.fields
    assert api.queued() == 0


def test_fields_that_another_toolset_has_are_named_one_by_one(api: Api) -> None:
    body = {"idea": "bees", "toolset": "assistant", "mode": "nonsense", "ref": "main"}

    reply = api.post("/explorations", {**body, "if_exists": "reuse"})

    assert reply.status == 422
    assert set(reply.fields) == {"mode", "ref", "if_exists"}
    assert api.queued() == 0


def test_update_and_continue_from_exclude_each_other(api: Api) -> None:
    body = {"idea": "bees", "update": True, "continue_from": new_id(1)}

    reply = api.post("/explorations", body)

    assert reply.status == 422
    assert reply.error["message"] == "Cannot use both 'update' and 'continue_from'."


@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"{", b"{'idea': 'x'}", b"\xff\xfe", b'{"idea": "\\ud800"}', b"[" * 5_000, b"\x00"],
)
def test_what_is_not_json_is_malformed(api: Api, body: bytes) -> None:
    reply = api.post("/explorations", body)

    assert reply.status == 400
    assert reply.error["type"] == "malformed"


def test_a_body_that_is_not_base64_is_malformed(api: Api) -> None:
    event = {"httpMethod": "POST", "path": "/explorations", "isBase64Encoded": True, "body": "%%%"}

    reply = api.send(event | {"requestContext": {"authorizer": {"owner": "ada"}}})

    assert reply.status == 400
    assert reply.error["type"] == "malformed"


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 6_000_000])
def test_a_body_that_is_too_large_is_refused(api: Api, size: int) -> None:
    reply = api.post("/explorations", b" " * size)

    assert reply.status == 413
    assert reply.error["type"] == "too_large"


def test_many_unknown_fields_are_answered_in_short(api: Api) -> None:
    fields = {f"{n}-{'x' * 500}": 1 for n in range(300)}

    reply = api.post("/explorations", {"idea": "bees", **fields})

    assert reply.status == 422
    assert len(reply.text) < 20_000


# Continue


def test_a_follow_up_belongs_to_the_conversation_of_the_first(api: Api) -> None:
    first = api.run_to(api.submitted(), "completed", stats=Stats(steps=3))

    second = api.submitted(continue_from=first.id)
    api.run_to(second, "completed", stats=Stats(steps=3))
    third = api.submitted(continue_from=second.id)

    assert third.conversation_id == first.id


def test_what_cannot_be_continued_is_said_at_once(api: Api) -> None:
    unfinished = api.submitted().id
    foreign = api.run_to(api.submitted("bob"), "completed", stats=Stats(steps=3)).id
    empty = api.run_to(api.submitted(), "failed").id
    other = api.run_to(api.submitted(toolset="discover"), "completed", stats=Stats(steps=3)).id
    before = api.queued()

    for wanted in (unfinished, foreign, empty, other, new_id(1)):
        reply = api.post("/explorations", {"idea": "More bees", "continue_from": wanted})
        assert reply.status == 422
        assert list(reply.fields) == ["continue_from"]
    assert api.queued() == before


# Idempotency-Key


def test_a_repeated_key_gets_the_first_answer_and_starts_nothing(api: Api) -> None:
    headers = {"Idempotency-Key": "k1"}

    first = api.post("/explorations", {"idea": "Urban bees"}, headers=headers)
    again = api.post("/explorations", b'{ "idea" : "Urban bees" }', headers=headers)

    assert (first.status, again.status) == (202, 202)
    assert first.json == again.json
    assert api.queued() == 1
    assert len(api.queue.sent) == 1


def test_a_key_with_another_body_is_refused(api: Api) -> None:
    headers = {"Idempotency-Key": "k1"}
    api.post("/explorations", {"idea": "Urban bees"}, headers=headers)

    reply = api.post("/explorations", {"idea": "Rural bees"}, headers=headers)

    assert reply.status == 422
    assert list(reply.fields) == ["Idempotency-Key"]
    assert api.queued() == 1


def test_a_key_is_its_owners(api: Api) -> None:
    headers = {"Idempotency-Key": "k1"}

    first = api.post("/explorations", {"idea": "Urban bees"}, headers=headers)
    other = api.post("/explorations", {"idea": "Urban bees"}, headers=headers, owner="bob")

    assert first.json["id"] != other.json["id"]


def test_a_key_whose_request_failed_is_free_again(api: Api) -> None:
    headers = {"Idempotency-Key": "k1"}
    unfinished = api.submitted()
    body = {"idea": "More bees", "continue_from": unfinished.id}
    assert api.post("/explorations", body, headers=headers).status == 422
    api.run_to(unfinished, "completed", stats=Stats(steps=1))

    assert api.post("/explorations", body, headers=headers).status == 202


@pytest.mark.parametrize("key", ["", " ", "k" * 256, "käse", "a\tb"])
def test_a_strange_key_is_refused(api: Api, key: str) -> None:
    reply = api.post("/explorations", {"idea": "bees"}, headers={"Idempotency-Key": key})

    assert reply.status == 422
    assert api.queued() == 0
