"""The webhook: signed, repeated with the same id and body, and never in the way of the research."""

import base64
import hashlib
import hmac
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.errors import ConflictError, InvalidRequestError, UndeliveredError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.queue_messages import QueueMessage, parse_message
from idea_explorer.domain.request import key_of
from idea_explorer.domain.run import Stats
from idea_explorer.ports import Clock, Webhooks
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.notify import notify, resend, send_test
from tests.fakes.clock import ManualClock
from tests.fakes.desk import IDEA, Desk
from tests.fakes.receiver import LoopbackPosts, Receiver

URL = "https://hooks.example.com/ideas"
SECRET = "whsec_" + base64.b64encode(b"a key of the receiver's").decode()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    store = SqliteStore(tmp_path / "explorations.db")
    return Desk(store, FolderPublisher(tmp_path, tmp_path / "lock"), ManualClock())


def published(desk: Desk, **request: Any) -> Exploration:
    return desk.publish(desk.finished(webhook_url=URL, **request))


def sending(desk: Desk, webhooks: Webhooks, clock: Clock | None = None) -> Deps:
    return replace(
        desk.deps,
        webhooks=lambda: webhooks,
        clock=clock or desk.clock,
        repository="acme/ideas",
        branch="main",
    )


def tell(
    desk: Desk, exploration: Exploration, webhooks: Webhooks, clock: Clock | None = None
) -> Exploration:
    """Send the message; a receiver that is down is what the record says of it."""
    with suppress(UndeliveredError):
        notify(exploration.id, exploration.run.number, sending(desk, webhooks, clock))
    return desk.store.load(exploration.id)


def send_again(desk: Desk, exploration: Exploration, webhooks: Webhooks) -> Exploration:
    return resend(exploration.id, sending(desk, webhooks))


def test_a_receiver_is_told_what_became_of_the_idea(desk: Desk, receiver: Receiver) -> None:
    stats = Stats(steps=2, step_durations=(1_200, 34_000))
    final = desk.publish(desk.finished(webhook_url=URL, record={"stats": stats}))
    told = tell(desk, final, LoopbackPosts(receiver))

    (message,) = receiver.received
    assert json.loads(message.body) == {
        "type": "idea_explored",
        "id": final.id,
        "status": "completed",
        "idea": IDEA,
        "mode": "business",
        "github_url": None,
        "github_raw_url": None,
        "report_excerpt": "# Boxes for beekeepers They want them. ## Verdict **PIVOT**",
        "error": None,
        "repo": "acme/ideas",
        "branch": "main",
        "step_durations": [1_200, 34_000],
        "timestamp": "2026-11-16T09:30:00+00:00",
    }
    assert message.headers["content-type"] == "application/json"
    assert (told.delivery.status, told.delivery.attempts) == ("delivered", 1)
    assert desk.store.load(final.id).delivery == told.delivery


def test_a_change_of_other_code_names_its_own_repository(desk: Desk, receiver: Receiver) -> None:
    final = published(desk, toolset="code", repository="acme/shop")
    tell(desk, final, LoopbackPosts(receiver))

    assert json.loads(receiver.received[0].body)["repo"] == "acme/shop"


@pytest.mark.parametrize("secret", [SECRET, "plain words, 256 at most", "whsec", "ключ"])
def test_both_signatures_hold_for_the_key_that_the_secret_names(
    desk: Desk, receiver: Receiver, secret: str
) -> None:
    tell(desk, published(desk, callback_secret=secret), LoopbackPosts(receiver), SystemClock())

    (message,) = receiver.received
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    assert Webhook(key).verify(message.body, dict(message.headers))
    expected = hmac.new(key, message.body, hashlib.sha256).hexdigest()
    assert message.headers["x-signature"] == f"sha256={expected}"
    with pytest.raises(WebhookVerificationError):
        Webhook(key).verify(message.body + b" ", dict(message.headers))


def test_without_a_secret_there_is_no_signature(desk: Desk, receiver: Receiver) -> None:
    tell(desk, published(desk), LoopbackPosts(receiver))

    names = receiver.received[0].headers.keys()
    assert {"webhook-id", "webhook-timestamp"} <= names
    assert not {"webhook-signature", "x-signature"} & names


def test_three_attempts_at_one_two_and_four_seconds(desk: Desk) -> None:
    clock = ManualClock()
    at: list[float] = []

    def fails() -> bool:
        at.append(clock.elapsed)
        return True

    with Receiver(fails) as receiver:
        posts = LoopbackPosts(receiver)
        final = tell(desk, published(desk), posts, clock)
    assert at == [1, 2, 4]
    assert posts.timeouts == [10, 10, 10]
    assert final.status == "completed"
    assert (final.delivery.status, final.delivery.attempts) == ("pending", 3)
    assert final.delivery.last_error == "The server answered 500."


def test_a_receiver_that_fails_at_random_gets_each_event_with_one_id_and_body(desk: Desk) -> None:
    chance = random.Random(7)
    with Receiver(lambda: chance.random() < 0.3) as receiver:
        posts = LoopbackPosts(receiver)
        finals = [tell(desk, published(desk, callback_secret=SECRET), posts) for _ in range(60)]
        resent = 0
        for final in finals:
            while final.delivery.status != "delivered":
                final = send_again(desk, final, posts)
                resent += 1
    bodies: dict[str, set[bytes]] = {}
    for message in receiver.received:
        bodies.setdefault(message.id, set()).add(message.body)
    refused = len(receiver.received) - len(receiver.taken)
    print(f"events: 60, requests: {len(receiver.received)}, refused: {refused}, resent: {resent}")
    assert {message.id for message in receiver.taken} == {f"msg_{f.id}_1" for f in finals}
    assert all(len(same) == 1 for same in bodies.values())
    assert refused > 0
    assert {desk.store.load(final.id).status for final in finals} == {"completed"}


def test_a_dead_receiver_leaves_the_exploration_completed(desk: Desk) -> None:
    with Receiver() as receiver:
        posts = LoopbackPosts(receiver)
    final = tell(desk, published(desk), posts)

    stored = desk.store.load(final.id)
    assert (stored.status, stored.delivery.status) == ("completed", "pending")
    assert stored.delivery.last_error == "The server could not be reached."


def test_what_has_arrived_is_not_sent_again_unless_asked_for(
    desk: Desk, receiver: Receiver
) -> None:
    posts = LoopbackPosts(receiver)
    final = tell(desk, published(desk), posts)
    tell(desk, final, posts)
    once = len(receiver.received)
    send_again(desk, final, posts)

    assert once == 1
    first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254"])
def test_an_address_that_is_not_public_is_tried_once_and_never_reached(
    desk: Desk, receiver: Receiver, host: str
) -> None:
    port = receiver.url.split(":")[2].split("/")[0]
    final = desk.publish(desk.finished(webhook_url=f"https://{host}:{port}/hook"))
    told = tell(desk, final, PublicHttp(SystemClock()))

    assert (told.status, told.delivery.status, told.delivery.attempts) == ("completed", "failed", 1)
    assert "not a public address" in str(told.delivery.last_error)
    assert receiver.received == []


def test_failure_and_partial_are_told_with_their_reason(desk: Desk, receiver: Receiver) -> None:
    exploration = desk.finished(webhook_url=URL, outcome="partial")
    desk.store.save_report(exploration.id, 0, "# Half\n\nOf it.")
    failed = desk.store.take_over(
        exploration.id,
        lambda e: e.finished("failed", at=datetime(2026, 11, 16, tzinfo=UTC)),
    )
    tell(desk, failed, LoopbackPosts(receiver))

    body = json.loads(receiver.received[0].body)
    assert (body["status"], body["report_excerpt"]) == ("failed", "# Half Of it.")


def test_nobody_is_told_where_nobody_asked(desk: Desk, receiver: Receiver) -> None:
    final = desk.publish(desk.finished())
    told = tell(desk, final, LoopbackPosts(receiver))

    assert receiver.received == []
    assert told.delivery.status == "none"
    with pytest.raises(ConflictError, match="without a webhook"):
        send_again(desk, final, LoopbackPosts(receiver))


def test_nobody_is_told_before_the_end_or_of_another_run(desk: Desk, receiver: Receiver) -> None:
    running = desk.finished(webhook_url=URL)
    with pytest.raises(ConflictError, match="has not ended"):
        tell(desk, running, LoopbackPosts(receiver))
    assert receiver.received == []


def test_a_run_that_goes_on_meanwhile_keeps_its_own_record(desk: Desk) -> None:
    final = published(desk)

    def resumed() -> bool:
        desk.store.take_over(final.id, lambda e: e.replace(number=2, status="queued"))
        return False

    with Receiver(resumed) as receiver:
        told = tell(desk, final, LoopbackPosts(receiver))
    assert (told.run.number, told.status) == (2, "queued")
    assert told.delivery.status != "delivered"


def test_a_test_message_is_signed_and_sent_once(desk: Desk, receiver: Receiver) -> None:
    delivery = send_test(URL, SECRET, sending(desk, LoopbackPosts(receiver), SystemClock()))

    (message,) = receiver.received
    assert delivery.status == "delivered"
    key = key_of(SECRET)
    assert Webhook(key).verify(message.body, dict(message.headers))["type"] == "webhook_test"


@pytest.mark.parametrize("secret", ["whsec_", "whsec_***", "whsec_ü"])
def test_a_secret_that_holds_no_key_is_refused(secret: str) -> None:
    with pytest.raises(InvalidRequestError, match="base64") as refused:
        parse_message(
            QueueMessage(
                "m", json.dumps({"idea": IDEA, "webhook_url": URL, "callback_secret": secret})
            )
        )
    assert refused.value.fields.keys() == {"callback_secret"}


def test_ids_of_messages_differ_by_run(desk: Desk, receiver: Receiver) -> None:
    posts = LoopbackPosts(receiver)
    final = tell(desk, published(desk), posts)
    again = desk.again(final.id, "# More")
    tell(desk, desk.publish(again), posts)

    assert [message.id[-2:] for message in receiver.received] == ["_1", "_2"]
