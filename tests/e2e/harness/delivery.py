"""What brings events to functions: the queue's event source, rules, and schedules."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.e2e.harness.asynchronous import RuleTarget
from tests.e2e.harness.functions import THROTTLED, Functions
from tests.e2e.harness.lineage import merge_traces
from tests.e2e.harness.services import Services
from tests.e2e.harness.template import ACCOUNT, REGION

IDLE_SECONDS = 0.5  # each look costs moto more than it costs us
FIRST_THROTTLE_WAIT, MAX_THROTTLE_WAIT = 0.1, 5.0
MAX_RECEIVE = 10


class Background:
    """Threads that do the same thing again and again until they are told to stop."""

    def __init__(self, work: Callable[[], bool], threads: int = 1) -> None:
        """`work` says whether there was something to do."""
        self._work = work
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            if not self._work():
                self._stopped.wait(IDLE_SECONDS)


class QueueSource:
    """Delivers messages in batches, with at most so many deliveries at a time. A message is deleted when the
    function has not named it as failed; otherwise it comes back after its visibility, and so does one
    whose function was throttled for as long as that, or stopped as a recursive loop.
    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """

    def __init__(
        self,
        services: Services,
        functions: Functions,
        queue_url: str,
        function: str,
        batch_size: int = 1,
    ) -> None:
        self.enabled = True
        self._sqs = services.client("sqs")
        self._functions = functions
        self._queue_url = queue_url
        self._function = function
        self._batch_size = min(batch_size, MAX_RECEIVE)
        self._stopped = threading.Event()
        self._visibility = self._read_visibility()

    def deliver(self) -> bool:
        if not self.enabled:
            return False
        answer = self._sqs.receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=self._batch_size,
            AttributeNames=["All"],
        )
        messages = answer.get("Messages", [])
        if messages:
            self._deliver(messages)
        return bool(messages)

    def stop(self) -> None:
        """Wait no longer for functions that are throttled."""
        self._stopped.set()

    def _deliver(self, messages: list[dict[str, Any]]) -> None:
        until = time.monotonic() + self._visibility
        event = sqs_event(messages)
        trace = merge_traces([message["Attributes"].get("AWSTraceHeader") for message in messages])
        wait = FIRST_THROTTLE_WAIT
        while (answer := self._functions.invoke(self._function, event, trace)).error == THROTTLED:
            if time.monotonic() + wait > until or self._stopped.wait(wait):
                return
            wait = min(2 * wait, MAX_THROTTLE_WAIT)
        if not answer.ok:
            return
        reported = (answer.payload or {}).get("batchItemFailures", [])
        failed = {item["itemIdentifier"] for item in reported}
        for message in messages:
            if message["MessageId"] not in failed:
                self._sqs.delete_message(
                    QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"]
                )

    def _read_visibility(self) -> float:
        name = "VisibilityTimeout"
        answer = self._sqs.get_queue_attributes(QueueUrl=self._queue_url, AttributeNames=[name])
        return float(answer["Attributes"][name])


def sqs_event(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "awsRegion": REGION,
            }
            for message in messages
        ]
    }


class EndedExecutions:
    """Tells the target of a rule, once each, of executions that failed, timed out or were stopped."""

    def __init__(
        self, services: Services, machine: str, function: str, target: RuleTarget, pattern: Any
    ) -> None:
        self._states = services.client("stepfunctions")
        self._asynchronous = services.asynchronous
        self._machine = machine
        self._function = function
        self._target = target
        self._statuses = pattern["detail"]["status"]
        self._told: set[str] = set()

    def tell(self) -> bool:
        news = [
            execution
            for status in self._statuses
            for execution in self._states.list_executions(
                stateMachineArn=self._machine, statusFilter=status
            )["executions"]
            if execution["executionArn"] not in self._told
        ]
        for execution in news:
            self._tell(execution)
        return bool(news)

    def stop(self, execution_arn: str, *, seconds: float) -> None:
        """Stop an execution by hand, tell of it at once, as AWS does, and wait until it was heard; moto
        shows it as running until its task has ended."""
        self._states.stop_execution(executionArn=execution_arn)
        execution = self._states.describe_execution(executionArn=execution_arn)
        self._tell({**execution, "status": "ABORTED"})
        self._asynchronous.wait(self._function, seconds)

    def _tell(self, execution: dict[str, Any]) -> None:
        self._told.add(execution["executionArn"])
        self._target.deliver(execution_event(execution))


class Schedule:
    """Sends an event every so many seconds, the first after as many."""

    def __init__(self, target: RuleTarget, event: Any, seconds: float) -> None:
        self._target = target
        self._event = event
        self._seconds = seconds
        self._next = time.monotonic() + seconds

    def tick(self) -> bool:
        if time.monotonic() >= self._next:
            self._next += self._seconds
            self._target.deliver(self._event)
        return False


def execution_event(execution: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": "0",
        "source": "aws.states",
        "detail-type": "Step Functions Execution Status Change",
        "account": ACCOUNT,
        "region": REGION,
        "time": datetime.now(UTC).isoformat(),
        "detail": {
            "executionArn": execution["executionArn"],
            "stateMachineArn": execution["stateMachineArn"],
            "name": execution["name"],
            "status": execution["status"],
        },
    }
