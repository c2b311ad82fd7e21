"""What brings events to functions: the queue's event source, and the rule on executions that ended."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.e2e.harness.functions import THROTTLED, Functions
from tests.e2e.harness.services import Services
from tests.e2e.harness.template import ACCOUNT, REGION

IDLE_SECONDS = 0.5  # each look costs moto more than it costs us


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
    """Delivers messages one by one, with at most so many deliveries at a time. A message is deleted
    when the function has not named it as failed; otherwise it comes back after its visibility."""

    def __init__(
        self, services: Services, functions: Functions, queue_url: str, function: str
    ) -> None:
        self._sqs = services.client("sqs")
        self._functions = functions
        self._queue_url = queue_url
        self._function = function

    def deliver(self) -> bool:
        answer = self._sqs.receive_message(
            QueueUrl=self._queue_url, MaxNumberOfMessages=1, AttributeNames=["All"]
        )
        messages = answer.get("Messages", [])
        for message in messages:
            self._deliver(message)
        return bool(messages)

    def _deliver(self, message: dict[str, Any]) -> None:
        answer = self._functions.invoke(self._function, sqs_event(message))
        if not answer.ok:
            return
        failed = {item["itemIdentifier"] for item in answer.payload["batchItemFailures"]}
        if message["MessageId"] not in failed:
            self._sqs.delete_message(
                QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"]
            )


def sqs_event(message: dict[str, Any]) -> dict[str, Any]:
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
        ]
    }


class EndedExecutions:
    """Tells a function, once each, of executions that failed, timed out or were stopped."""

    def __init__(
        self, services: Services, functions: Functions, machine: str, function: str, pattern: Any
    ) -> None:
        self._states = services.client("stepfunctions")
        self._functions = functions
        self._machine = machine
        self._function = function
        self._statuses = pattern["detail"]["status"]
        self._told: set[str] = set()

    def tell(self) -> bool:
        found = self._states.list_executions(stateMachineArn=self._machine)["executions"]
        news = [e for e in found if e["status"] in self._statuses and not self._knows(e)]
        for execution in news:
            self._tell(execution)
        return bool(news)

    def stop(self, execution_arn: str) -> None:
        """Stop an execution by hand and tell of it at once, as AWS does; moto shows it as running
        until its task has ended."""
        self._states.stop_execution(executionArn=execution_arn)
        execution = self._states.describe_execution(executionArn=execution_arn)
        self._tell({**execution, "status": "ABORTED"})

    def _tell(self, execution: dict[str, Any]) -> None:
        """What is throttled is tried again, as Lambda does with events."""
        self._told.add(execution["executionArn"])
        event = execution_event(execution)
        while self._functions.invoke(self._function, event).error == THROTTLED:
            time.sleep(IDLE_SECONDS)

    def _knows(self, execution: dict[str, Any]) -> bool:
        return execution["executionArn"] in self._told


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
