"""Executions of the exploration workflow on Step Functions, named `{id}-{run}`."""

import json
from collections.abc import Callable
from typing import Any

from idea_explorer.adapters.aws.client import aws_errors, code_of
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject

SYSTEM = "Step Functions"


class StepFunctionsWorkflow:
    """A name stays taken for ninety days, so a run is started once, whoever delivers it again."""

    def __init__(self, state_machine_arn: str, connect: Callable[[], Any]) -> None:
        self._arn = state_machine_arn
        self._connect = connect

    def start(self, exploration_id: ExplorationId, run: int, deadline_seconds: int) -> bool:
        given = {"id": exploration_id, "run": run, "deadline_seconds": deadline_seconds}
        return self._unless(
            {"ExecutionAlreadyExists"},
            lambda api: api.start_execution(
                stateMachineArn=self._arn,
                name=_name(exploration_id, run),
                input=json.dumps(given),
            ),
        )

    def answer(self, token: str, output: JsonObject) -> bool:
        return self._unless(
            {"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"},
            lambda api: api.send_task_success(taskToken=token, output=json.dumps(output)),
        )

    def _unless(self, expected: set[str], call: Callable[[Any], object]) -> bool:
        """Whether the call went through; False for a refusal that was to be expected."""
        from botocore.exceptions import ClientError

        with aws_errors(SYSTEM):
            try:
                call(self._connect())
            except ClientError as error:
                if code_of(error) in expected:
                    return False
                raise
        return True


def _name(exploration_id: ExplorationId, run: int) -> str:
    return f"{exploration_id}-{run}"
