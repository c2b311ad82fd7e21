"""What moto's state machines need to run a thousand executions: they parse the definition and make a
client anew each time. And the size that Step Functions allows an execution's input."""

import copy
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from moto.core.exceptions import AWSError
from moto.stepfunctions.responses import StepFunctionResponse

from tests.e2e.harness.limits import STATE_BYTES


class InputTooLargeError(AWSError):
    TYPE = "ValidationException"


@contextmanager
def light_workflows() -> Iterator[None]:
    # take a second, which only a server of workflows needs to spend
    from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
    from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

    parse = functools.cache(AmazonStateLanguageParser.parse)
    client_for: Any = vars(lambda_eval_utils)["boto_client_for"]
    clients: dict[tuple[str, str], Any] = {}

    def parse_once(definition: str) -> Any:
        program, tree = parse(definition)
        return copy.deepcopy(program), tree

    def client_once(region: str, service: str, state_credentials: Any = None) -> Any:
        if (region, service) not in clients:
            clients[region, service] = client_for(region, service, state_credentials)
        return clients[region, service]

    with (
        patch.object(AmazonStateLanguageParser, "parse", staticmethod(parse_once)),
        patch.object(lambda_eval_utils, "boto_client_for", client_once),
    ):
        yield


@contextmanager
def limited_inputs() -> Iterator[None]:
    start_execution = StepFunctionResponse.start_execution

    def start(response: Any) -> Any:
        if len((response._get_param("input") or "").encode()) > STATE_BYTES:
            raise InputTooLargeError(
                "1 validation error detected: Value at 'input' failed to satisfy constraint: "
                f"Member must have length less than or equal to {STATE_BYTES}"
            )
        return start_execution(response)

    with patch.object(StepFunctionResponse, "start_execution", start):
        yield
