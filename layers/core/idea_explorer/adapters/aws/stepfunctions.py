"""Executions of the exploration workflow on Step Functions, named `{id}-{run}`."""

import json
from collections.abc import Callable
from typing import Any

from idea_explorer.adapters.aws.client import ExpectedError, map_aws_errors
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject

SYSTEM = "Step Functions"


class StepFunctionsWorkflow:
    """Names stay taken for ninety days, so a run starts only once, however often it is delivered."""

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

    def answer(self, token: str, output: JsonObject) -> bool:
        return self._call(
            {"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"},
            lambda api: api.send_task_success(taskToken=token, output=json.dumps(output)),
        )

    def _call(self, expected: set[str], call: Callable[[Any], object]) -> bool:
        """False if AWS refuses with an expected code."""
        try:
            with map_aws_errors(SYSTEM, expected=expected):
                call(self._connect())
        except ExpectedError:
            return False
        return True
