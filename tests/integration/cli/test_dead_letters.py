"""An operator looks at what could not be processed, and sends it again or drops it."""

import json
from typing import Any

import pytest

from idea_explorer.adapters.aws import dead_letters
from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.aws.dead_letters import SqsDeadLetters
from idea_explorer.cli import main
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.settings import Settings
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.stack import name_stack

EXPLORE = "arn:aws:lambda:eu-central-1:123456789012:function:ideas-explore:live"
STOPPED = {"detail": {"name": "019a8c3e-1", "status": "FAILED"}}
# https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
GIVEN_UP = {
    "version": "1.0",
    "timestamp": "2026-11-17T09:00:00.000Z",
    "requestContext": {
        "requestId": "e4b46cbf",
        "functionArn": EXPLORE,
        "condition": "RetriesExhausted",
        "approximateInvokeCount": 3,
    },
    "requestPayload": STOPPED,
    "responseContext": {"statusCode": 200, "functionError": "Unhandled"},
    "responsePayload": {"errorType": "InternalError", "errorMessage": "KeyError"},
}


@pytest.fixture
def failed_calls(aws: Settings) -> str:
    url: str = client("sqs").create_queue(QueueName="failed-calls")["QueueUrl"]
    return url


@pytest.fixture(autouse=True)
def deployment(aws: Settings, failed_calls: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "WAIT_SECONDS", 0)  # moto has but one server to ask
    assert aws.queue_url is not None
    assert aws.dead_letter_queue_url is not None
    name_stack(
        "ideas",
        QueueUrl=aws.queue_url,
        DeadLetterQueueUrl=aws.dead_letter_queue_url,
        FailedCallsQueueUrl=failed_calls,
    )


def admin(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code = main(["admin", "dead-letters", *arguments, "--stack", "ideas", "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def bodies(url: str | None) -> list[str]:
    answer = client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10)
    return [message["Body"] for message in answer.get("Messages", [])]


def dead_letter(aws: Settings, body: str, reason: str) -> None:
    """As dispatch does it."""
    from idea_explorer.observability.logging import SilentLog

    cloud_deps(aws, SilentLog()).queue().dead_letter(body, reason)


def test_what_dispatch_put_there_is_listed_with_its_reason_and_stays(
    aws: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    dead_letter(aws, '{"idea": ""}', "idea: must not be empty")

    (listed,) = admin(capsys, "list")
    (again,) = admin(capsys, "list")

    assert (listed["kind"], listed["body"]) == ("message", '{"idea": ""}')
    assert listed["reason"] == "idea: must not be empty"
    assert again["id"] == listed["id"]


def test_a_retried_message_goes_to_the_queue_and_a_dropped_one_is_gone(
    aws: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    named = json.dumps({"id": ExplorationId("x"), "run": 1})
    dead_letter(aws, named, "It could not be started.")
    dead_letter(aws, "not JSON", "not JSON")
    first, second = sorted(admin(capsys, "list"), key=lambda letter: letter["body"] == "not JSON")

    assert admin(capsys, "retry", first["id"]) == {"retried": [first["id"]]}
    assert bodies(aws.queue_url) == [named]
    assert [letter["id"] for letter in admin(capsys, "list")] == [second["id"]]

    assert admin(capsys, "drop", "--all") == {"dropped": [second["id"]]}
    assert admin(capsys, "list") == []
    assert bodies(aws.queue_url) == []  # the first is still taken; the second never came


class Invoked:
    """Lambda, as far as it is asked."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def invoke(self, **call: Any) -> dict[str, Any]:
        self.calls.append(call)
        return {"StatusCode": 202}


@pytest.mark.parametrize(
    ("body", "attributes", "reason"),
    [
        (GIVEN_UP, {}, "RetriesExhausted: InternalError"),
        (STOPPED, {"TARGET_ARN": EXPLORE, "ERROR_MESSAGE": "Not allowed"}, "Not allowed"),
    ],
    ids=["given up by Lambda", "not delivered by EventBridge"],
)
def test_a_call_is_made_again_with_what_it_was_made_with(
    aws: Settings, failed_calls: str, body: Any, attributes: dict[str, str], reason: str
) -> None:
    sqs, functions = client("sqs"), Invoked()
    sqs.send_message(
        QueueUrl=failed_calls,
        MessageBody=json.dumps(body),
        MessageAttributes={
            name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
        },
    )
    assert aws.queue_url is not None
    assert aws.dead_letter_queue_url is not None
    letters = SqsDeadLetters(
        aws.queue_url, aws.dead_letter_queue_url, failed_calls, lambda: sqs, lambda: functions
    )

    with letters.receive_all() as (letter,):
        assert letter.reason == reason
        letters.retry(letter)

    assert functions.calls == [
        {
            "FunctionName": EXPLORE,
            "InvocationType": "Event",
            "Payload": json.dumps(STOPPED).encode(),
        }
    ]
    assert bodies(failed_calls) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["retry"], "Say which: ids, or --all."),
        (["drop", "x", "--all"], "Say which: ids, or --all."),
        (["retry", "x"], "There is no dead letter x."),
    ],
)
def test_it_has_to_be_said_which(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["admin", "dead-letters", *arguments, "--stack", "ideas"]) != 0

    assert sentence in capsys.readouterr().err


def test_a_hostile_body_is_shown_and_not_obeyed(
    aws: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    # SQS takes no control characters but tab, line ends and all of C1
    client("sqs").send_message(
        QueueUrl=aws.dead_letter_queue_url, MessageBody="EVIL\x9b31m\x9d0;T\x9c\u202e"
    )

    assert main(["admin", "dead-letters", "list", "--stack", "ideas"]) == 0
    assert r"EVIL\u009b31m\u009d0;T\u009c\u202e" in capsys.readouterr().out
