"""The notify function over a deployment's services."""

import json
from typing import Any

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.domain.errors import ConfigurationError, UndeliveredError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.webhook import WebhookTarget
from idea_explorer.lambda_runtime import deployment
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring import publishing
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.explorations import NOW
from tests.fakes.functions import Context, handler_of, set_environment

NOWHERE = "https://hooks.invalid/ideas"  # a name that nobody has: the attempt is what can be seen


def ended(settings: Settings, **request: Any) -> Exploration:
    wanted = ExploreRequest(idea="Bees", **request)
    told = settings.webhook_url is not None
    new = Exploration.new(wanted, "ada", at=NOW, default_webhook=told)
    over = new.replace(status="completed", finished_at=NOW)
    assert cloud_deps(settings, SilentLog()).explorations.create(over)
    return over


@pytest.mark.long
def test_a_receiver_that_is_down_fails_the_call_by_the_name_that_the_workflow_knows(
    aws: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(aws, monkeypatch)
    exploration = ended(aws, webhook_url=NOWHERE)

    with pytest.raises(UndeliveredError, match="could not be resolved"):
        handler_of("notify")({"id": exploration.id, "run": 1}, Context())

    stored = cloud_deps(aws, SilentLog()).explorations.load(exploration.id)
    assert (stored.status, stored.delivery.status) == ("completed", "pending")
    assert (stored.delivery.attempts, stored.delivery.rounds) == (3, 1)


@pytest.mark.long
def test_where_no_workflow_asked_the_record_alone_says_that_it_is_tried_again(
    aws: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(aws, monkeypatch)
    exploration = ended(aws, webhook_url=NOWHERE)

    event = {"id": exploration.id, "run": 1, "unattended": True}
    answer = handler_of("notify")(event, Context())

    assert answer["delivery"] == "pending"


@pytest.mark.parametrize("secret", ["s3cret-value", '{"secret": "s3cret-value"}'])
def test_the_default_is_signed_by_the_secret_as_it_is_now(aws: Settings, secret: str) -> None:
    created = client("secretsmanager").create_secret(Name="webhook", SecretString=secret)
    update = {"webhook_url": NOWHERE, "webhook_secret_id": created["ARN"]}
    target = publishing.default_webhook(aws.model_copy(update=update))()

    assert target == WebhookTarget(NOWHERE, "s3cret-value")
    assert "s3cret" not in repr(target)


@pytest.mark.parametrize("secret", [None, "whsec_***"])
def test_a_default_whose_secret_cannot_be_used_is_never_sent_unsigned(
    aws: Settings, monkeypatch: pytest.MonkeyPatch, secret: str | None
) -> None:
    given = {"SecretString": secret} if secret else {}
    created = client("secretsmanager").create_secret(Name=f"webhook-{secret}"[:12], **given)
    update = {"webhook_url": NOWHERE, "webhook_secret_id": created["ARN"]}
    settings = aws.model_copy(update=update)
    with pytest.raises(ConfigurationError, match="idea admin secret set"):
        publishing.default_webhook(settings)()
    set_environment(settings, monkeypatch)
    exploration = ended(settings)

    answer = handler_of("notify")({"id": exploration.id, "run": 1}, Context())

    delivery = cloud_deps(aws, SilentLog()).explorations.load(exploration.id).delivery
    assert (answer["delivery"], delivery.attempts) == ("failed", 0)
    assert "idea admin secret set" in str(delivery.last_error)


def test_a_raw_message_is_told_of_too_where_there_is_a_default(
    aws: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(aws.model_copy(update={"webhook_url": NOWHERE}), monkeypatch)
    record = {"messageId": "m-1", "body": json.dumps({"idea": "Bees", "dedup_key": "k"})}

    handler_of("dispatch")({"Records": [record]}, Context())

    later = NOW.replace(year=2100)
    (exploration,) = deployment.deps().explorations.unchanged_since("running", later)
    assert exploration.delivery.status == "pending"
    assert exploration.request.webhook_url is None
