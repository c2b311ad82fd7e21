"""Sizes that AWS refuses: responses of functions, input of executions, messages."""

import json
from typing import Any

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.e2e.harness.limits import MIB, RESPONSE_BYTES, STATE_BYTES
from tests.e2e.harness.moto_workflows import limited_inputs
from tests.e2e.harness.runtime import INVOCATION, Answer, serve_runtime_api
from tests.e2e.harness.serving import port_of, stop
from tests.fakes.aws import MACHINE, ROLE


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")


class Answers:
    """Hears what a function's process answers."""

    def __init__(self) -> None:
        self.heard: list[Answer] = []

    def answered(self, _invocation: str, answer: Answer) -> None:
        self.heard.append(answer)


@pytest.mark.parametrize(
    ("size", "error"),
    [(RESPONSE_BYTES, None), (RESPONSE_BYTES + 1, "Function.ResponseSizeTooLarge")],
)
def test_a_response_beyond_six_megabytes_fails_the_invocation(size: int, error: str | None) -> None:
    environment: Any = Answers()
    server = serve_runtime_api(environment)

    url = f"http://127.0.0.1:{port_of(server)}{INVOCATION}1/response"
    httpx.post(url, content=json.dumps("x" * (size - 2)))
    stop(server)

    assert [answer.error for answer in environment.heard] == [error]


def test_an_execution_takes_256_kb_of_input() -> None:
    with mock_aws(), limited_inputs():
        states: Any = boto3.client("stepfunctions", region_name="us-east-1")
        machine = states.create_state_machine(
            name="m", definition=json.dumps(MACHINE), roleArn=ROLE
        )["stateMachineArn"]
        fits, too_large = (json.dumps("x" * (STATE_BYTES - 2 + more)) for more in (0, 1))

        states.start_execution(stateMachineArn=machine, input=fits)
        with pytest.raises(ClientError, match="ValidationException"):
            states.start_execution(stateMachineArn=machine, input=too_large)


def test_a_message_has_one_mebibyte() -> None:
    with mock_aws():
        sqs: Any = boto3.client("sqs", region_name="us-east-1")
        url = sqs.create_queue(QueueName="work")["QueueUrl"]

        sqs.send_message(QueueUrl=url, MessageBody="x" * MIB)
        with pytest.raises(ClientError, match="must be shorter than"):
            sqs.send_message(QueueUrl=url, MessageBody="x" * (MIB + 1))
