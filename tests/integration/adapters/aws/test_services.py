"""Queue, workflow and secrets of a deployment, by moto."""

import json
from typing import Any

import boto3
import pytest
import requests

from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.aws.secrets import CloudSecrets
from idea_explorer.adapters.clock import SystemClock
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.ids import new_id
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import cloud_queue, cloud_secrets, cloud_workflow
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.aws import REGION, moto_server
from tests.fakes.explorations import an_exploration, said, words

ID = new_id(0)


def messages(queue_url: str | None) -> list[dict[str, Any]]:
    sqs: Any = boto3.client("sqs")
    answer = sqs.receive_message(
        QueueUrl=queue_url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
    )
    found: list[dict[str, Any]] = answer.get("Messages", [])
    return found


def test_the_standard_endpoint_variable_leads_to_every_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with moto_server() as settings:
        stores = cloud_deps(settings, SilentLog())
        exploration = an_exploration()
        stores.explorations.create(exploration)
        taken = stores.explorations.take_over(exploration.id, lambda e: e)
        stores.events.append(taken.id, taken.lease, words("over HTTP"))
        stores.transcripts.open(taken.id, taken.lease).append(said("over HTTP"))
        file_id, upload = stores.uploads.presign("ada", "notes.txt", 4)
        assert upload.url.startswith(str(settings.aws_endpoint_url))
        requests.post(upload.url, data=upload.fields, files={"file": b"bees"}, timeout=5)

        assert stores.uploads.read("ada", file_id).content == b"bees"
        assert len(stores.events.read(taken.id)) == 1
        assert len(stores.transcripts.open(taken.id, taken.lease).entries) == 1
        cloud_queue(settings).send(taken.id, 1)
        assert cloud_workflow(settings).start(taken.id, 1, 120)
        put_secret("github", "ghp_1", settings.aws_endpoint_url)
        assert cloud_secrets(settings).get("github") == "ghp_1"


def test_a_message_names_the_exploration_and_its_run(aws: Settings) -> None:
    cloud_queue(aws).send(ID, 2)

    (message,) = messages(aws.queue_url)
    assert json.loads(message["Body"]) == {"id": ID, "run": 2}


def test_a_delayed_message_is_not_there_yet(aws: Settings) -> None:
    cloud_queue(aws).send(ID, 1, delay_seconds=30)

    assert messages(aws.queue_url) == []
    sqs: Any = boto3.client("sqs")
    wanted = ["ApproximateNumberOfMessagesDelayed"]
    found = sqs.get_queue_attributes(QueueUrl=aws.queue_url, AttributeNames=wanted)
    assert found["Attributes"] == {"ApproximateNumberOfMessagesDelayed": "1"}


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ('{"idea": 7}', '{"idea": 7}'),
        ("", "(empty)"),
        ("a\x00b\ud800c", "a?b?c"),
        ("🐝" * 100_000, "🐝" * 62_500),
    ],
)
def test_what_cannot_be_worked_on_is_set_aside_with_the_reason(
    aws: Settings, body: str, kept: str
) -> None:
    cloud_queue(aws).dead_letter(body, "'idea': not a string\x00")

    (message,) = messages(aws.dead_letter_queue_url)
    assert message["Body"] == kept
    assert message["MessageAttributes"]["reason"]["StringValue"] == "'idea': not a string?"
    assert messages(aws.queue_url) == []


def test_without_a_dead_letter_queue_nothing_can_be_set_aside(aws: Settings) -> None:
    queue = cloud_queue(aws.model_copy(update={"dead_letter_queue_url": None}))

    with pytest.raises(ConfigurationError, match="DEAD_LETTER_QUEUE_URL"):
        queue.dead_letter("x", "y")


def test_a_run_is_started_once(aws: Settings) -> None:
    workflow = cloud_workflow(aws)

    assert workflow.start(ID, 1, 120) is True
    assert workflow.start(ID, 1, 60) is False
    assert workflow.start(ID, 2, 120) is True

    machine: Any = boto3.client("stepfunctions")
    found = machine.list_executions(stateMachineArn=aws.state_machine_arn)["executions"]
    assert sorted(execution["name"] for execution in found) == [f"{ID}-1", f"{ID}-2"]
    given = machine.describe_execution(executionArn=found[-1]["executionArn"])["input"]
    assert json.loads(given) == {"id": ID, "run": 1, "deadline_seconds": 120}


def test_a_state_machine_that_does_not_exist_is_a_matter_of_configuration(aws: Settings) -> None:
    other = aws.model_copy(update={"state_machine_arn": f"{aws.state_machine_arn}-other"})

    with pytest.raises(ConfigurationError):
        cloud_workflow(other).start(ID, 1, 120)


def secrets(max_age_seconds: int) -> CloudSecrets:
    return CloudSecrets(lambda: client("secretsmanager"), max_age_seconds, SystemClock())


def put_secret(name: str, value: str, endpoint_url: str | None = None) -> None:
    manager = client("secretsmanager", endpoint_url)
    try:
        manager.create_secret(Name=name, SecretString=value)
    except manager.exceptions.ResourceExistsException:
        manager.put_secret_value(SecretId=name, SecretString=value)


def test_a_secret_is_read_once_while_it_is_young(aws: Settings) -> None:
    put_secret("github", "first\n")
    patient = secrets(300)
    assert patient.get("github") == "first"

    put_secret("github", "second")

    assert patient.get("github") == "first"


def test_a_rotated_secret_is_picked_up_once_the_old_one_is_too_old(aws: Settings) -> None:
    put_secret("github", "first")
    eager = secrets(0)
    assert eager.get("github") == "first"

    put_secret("github", "second")

    assert eager.get("github") == "second"


def test_a_secret_may_be_a_json_object(aws: Settings) -> None:
    put_secret("github", '{"token": "ghp_1", "note": "x"}')

    assert secrets(0).get("github", "token") == "ghp_1"
    assert json.loads(secrets(0).get("github")) == {"token": "ghp_1", "note": "x"}
    put_secret("github", "ghp_2\r\n")
    assert secrets(0).get("github", "token") == "ghp_2"


@pytest.mark.parametrize(
    "value", ["", "  ", '{"key": "very-secret"}', "{very-secret", "very-secret\rx", "very-secret x"]
)
def test_a_secret_without_its_value_is_a_matter_of_configuration(aws: Settings, value: str) -> None:
    if value:
        put_secret("github", value)

    with pytest.raises(ConfigurationError) as refused:
        secrets(0).get("github", "token")
    assert "github" in refused.value.message
    assert "very-secret" not in refused.value.sentence
