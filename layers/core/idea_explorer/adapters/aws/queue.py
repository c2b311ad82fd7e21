"""How a deployment queues and runs explorations: SQS, Step Functions, and the notify function on Lambda."""

import json
import re
from collections.abc import Callable
from typing import Any

from idea_explorer.adapters.aws.client import ExpectedError, map_aws_errors
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject

MAX_DELAY_SECONDS = 900  # the most that SQS allows
MAX_REASON = 1_000
MAX_BODY_BYTES = 250_000  # with the reason it fits into the 256 KB of a message
# Characters that SQS rejects.
UNSENDABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class SqsWorkQueue:
    """Only functions that dead-letter messages need the dead-letter queue."""

    def __init__(
        self, queue_url: str, dead_letter_queue_url: str | None, connect: Callable[[], Any]
    ) -> None:
        self._queue = queue_url
        self._dead_letters = dead_letter_queue_url
        self._connect = connect

    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        with map_aws_errors("SQS"):
            self._connect().send_message(
                QueueUrl=self._queue,
                MessageBody=json.dumps({"id": exploration_id, "run": run}),
                DelaySeconds=min(delay_seconds, MAX_DELAY_SECONDS),
            )

    def dead_letter(self, body: str, reason: str) -> None:
        if self._dead_letters is None:
            raise ConfigurationError(
                "DEAD_LETTER_QUEUE_URL is not set.", hint="A deployment sets it."
            )
        text = body.encode(errors="replace")[:MAX_BODY_BYTES].decode(errors="ignore")
        shortened = reason[:MAX_REASON].encode(errors="replace").decode()
        attribute = {"DataType": "String", "StringValue": _clean(shortened)}
        with map_aws_errors("SQS"):
            self._connect().send_message(
                QueueUrl=self._dead_letters,
                MessageBody=_clean(text),
                MessageAttributes={"reason": attribute},
            )


def _clean(text: str) -> str:
    return UNSENDABLE.sub("?", text) or "(empty)"


class StepFunctionsWorkflow:
    """Executions are named `{id}-{run}`, and names stay taken for ninety days, so a run starts only once,
    however often it is delivered."""

    def __init__(self, state_machine_arn: str, connect: Callable[[], Any]) -> None:
        self._arn = state_machine_arn
        self._connect = connect

    def start(self, exploration_id: ExplorationId, run: int, deadline_seconds: int) -> bool:
        run_input = {"id": exploration_id, "run": run, "deadline_seconds": deadline_seconds}
        return self._call(
            {"ExecutionAlreadyExists"},
            lambda api: api.start_execution(
                stateMachineArn=self._arn,
                name=f"{exploration_id}-{run}",
                input=json.dumps(run_input),
            ),
        )

    def is_running(self, exploration_id: ExplorationId, run: int) -> bool:
        executions = self._arn.replace(":stateMachine:", ":execution:")
        try:
            with map_aws_errors("Step Functions", expected={"ExecutionDoesNotExist"}):
                found = self._connect().describe_execution(
                    executionArn=f"{executions}:{exploration_id}-{run}"
                )
        except ExpectedError:
            return False
        return bool(found["status"] == "RUNNING")

    def answer(self, token: str, output: JsonObject) -> bool:
        return self._call(
            {"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"},
            lambda api: api.send_task_success(taskToken=token, output=json.dumps(output)),
        )

    def _call(self, expected: set[str], call: Callable[[Any], object]) -> bool:
        """False if AWS refuses with an expected code."""
        try:
            with map_aws_errors("Step Functions", expected=expected):
                call(self._connect())
        except ExpectedError:
            return False
        return True


class LambdaNotices:
    """Invokes the notify function asynchronously: Lambda queues and retries the request."""

    def __init__(self, function: str, connect: Callable[[], Any]) -> None:
        self._function = function
        self._connect = connect

    def ask(self, exploration_id: ExplorationId, run: int) -> None:
        payload = json.dumps({"id": exploration_id, "run": run, "unattended": True}).encode()
        with map_aws_errors("Lambda"):
            self._connect().invoke(
                FunctionName=self._function, InvocationType="Event", Payload=payload
            )
