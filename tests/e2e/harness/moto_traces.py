"""Trace headers on their way through moto: SQS keeps the one that a message was sent with, as AWS does."""

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from moto.sqs.models import SQSBackend
from moto.sqs.responses import SQSResponse
from moto.stepfunctions.responses import StepFunctionResponse

from tests.e2e.harness.lineage import TRACE_HEADER

_current: contextvars.ContextVar[str | None] = contextvars.ContextVar("trace", default=None)


@contextmanager
def kept_traces(*, through_workflows: bool) -> Iterator[None]:
    """A message's trace header is its system attribute AWSTraceHeader; one that is given as such counts
    more. `through_workflows` also hands the header of StartExecution to the workflow's functions."""
    with _traces_in_queues():
        if through_workflows:
            with _traces_in_workflows():
                yield
        else:
            yield


@contextmanager
def _traces_in_queues() -> Iterator[None]:
    send_message: Any = SQSBackend.send_message

    def send(backend: Any, *args: Any, system_attributes: Any = None, **kwargs: Any) -> Any:
        trace = _current.get()
        if trace and "AWSTraceHeader" not in (system_attributes or {}):
            header = {"AWSTraceHeader": {"DataType": "String", "StringValue": trace}}
            system_attributes = {**(system_attributes or {}), **header}
        return send_message(backend, *args, system_attributes=system_attributes, **kwargs)

    with (
        patch.object(SQSBackend, "send_message", send),
        patch.object(SQSResponse, "send_message", _traced(SQSResponse.send_message)),
        patch.object(SQSResponse, "send_message_batch", _traced(SQSResponse.send_message_batch)),
    ):
        yield


def _traced(method: Any) -> Any:
    def run(response: Any) -> Any:
        token = _current.set(response.headers.get(TRACE_HEADER))
        try:
            return method(response)
        finally:
            _current.reset(token)

    return run


@contextmanager
def _traces_in_workflows() -> Iterator[None]:
    # takes a second, which tests of queues save
    from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils

    traces: dict[str, str | None] = {}
    start_execution = StepFunctionResponse.start_execution
    execute = lambda_eval_utils.execute_lambda_function_integration
    client_for: Any = vars(lambda_eval_utils)["boto_client_for"]

    def start(response: Any) -> Any:
        machine, name = response._get_param("stateMachineArn"), response._get_param("name")
        arn = machine.replace(":stateMachine:", ":execution:") + f":{name}"
        traces.setdefault(arn, response.headers.get(TRACE_HEADER))
        return start_execution(response)

    def invoke(env: Any, *args: Any, **kwargs: Any) -> None:
        execution = env.states.context_object.context_object_data["Execution"]["Id"]
        token = _current.set(traces.get(execution))
        try:
            execute(env, *args, **kwargs)
        finally:
            _current.reset(token)

    def traced_client(*args: Any, **kwargs: Any) -> Any:
        client = client_for(*args, **kwargs)
        client.meta.events.register("before-call", _add_header, unique_id="trace")
        return client

    with (
        patch.object(StepFunctionResponse, "start_execution", start),
        patch.object(lambda_eval_utils, "execute_lambda_function_integration", invoke),
        patch.object(lambda_eval_utils, "boto_client_for", traced_client),
    ):
        yield


def _add_header(params: dict[str, Any], **_: Any) -> None:
    if trace := _current.get():
        params["headers"][TRACE_HEADER] = trace
