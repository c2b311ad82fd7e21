"""The queue's event source, with trace headers that really travel: SDK, queue, next invocation."""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.e2e.harness.delivery import QueueSource
from tests.e2e.harness.lineage import MAX_RUNS
from tests.e2e.harness.moto_traces import kept_traces
from tests.unit.harness.in_process import Handler, InProcessFunctions

LOOPING = Path(__file__).parents[2] / "e2e" / "broken" / "looping" / "app.py"
MAX_RECEIVES = 3


@dataclass
class Queue:
    """A queue that a function reads from, and what it gives up."""

    sqs: Any
    url: str
    dead_letters_url: str
    functions: InProcessFunctions

    def client(self, _service: str) -> Any:
        return self.sqs

    def serve(self, handler: Handler, **settings: Any) -> None:
        self.functions.serve("reader", handler, **settings)

    def deliver_all(self, batch_size: int = 1) -> None:
        """Until nothing is left to deliver."""
        source = QueueSource(self, self.functions, self.url, "reader", batch_size)  # type: ignore[arg-type]
        for _ in range(100):
            if not source.deliver():
                return
        raise AssertionError("it goes on and on")

    def send(self, *bodies: str) -> None:
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.url, MessageBody=body)

    def dead_letters(self) -> list[str]:
        answer = self.sqs.receive_message(QueueUrl=self.dead_letters_url, MaxNumberOfMessages=10)
        return [message["Body"] for message in answer.get("Messages", [])]


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    """What is not deleted is visible again at once."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws(), kept_traces(through_workflows=False):
        sqs: Any = boto3.client("sqs", region_name="us-east-1")
        dead_letters = sqs.create_queue(QueueName="dead-letters")["QueueUrl"]
        redrive = (
            '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:123456789012:dead-letters",'
            f' "maxReceiveCount": {MAX_RECEIVES}}}'
        )
        url = sqs.create_queue(
            QueueName="work", Attributes={"VisibilityTimeout": "0", "RedrivePolicy": redrive}
        )["QueueUrl"]
        monkeypatch.setenv("QUEUE_URL", url)
        yield Queue(sqs, url, dead_letters, InProcessFunctions())


def looping() -> Callable[[Any], Any]:
    spec = importlib.util.spec_from_file_location("looping", LOOPING)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda event: module.handler(event, None)


def test_a_function_that_sends_to_its_own_queue_is_ended_and_the_message_dead_lettered(
    queue: Queue,
) -> None:
    queue.serve(looping(), alone=True)
    queue.send("round and round")

    queue.deliver_all()

    assert len(queue.functions.invocations["reader"]) == MAX_RUNS
    assert queue.functions.recursive_drops == {"reader": MAX_RECEIVES}
    assert queue.dead_letters() == ["round and round"]


def test_messages_that_others_send_are_no_loop(queue: Queue) -> None:
    queue.serve(lambda _: {"batchItemFailures": []})
    queue.send(*["the same"] * (2 * MAX_RUNS))

    queue.deliver_all()

    assert len(queue.functions.invocations["reader"]) == 2 * MAX_RUNS
    assert queue.functions.recursive_drops == {}


def test_a_throttled_delivery_counts_and_ends_in_the_dead_letter_queue(queue: Queue) -> None:
    queue.serve(lambda _: {"batchItemFailures": []}, reserved=0)
    queue.send("unlucky")

    queue.deliver_all()

    assert queue.functions.account("account").throttles == {"reader": MAX_RECEIVES}
    assert queue.functions.invocations["reader"] == []
    assert queue.dead_letters() == ["unlucky"]


def test_a_throttled_delivery_is_tried_again_while_the_message_is_hidden(queue: Queue) -> None:
    queue.sqs.set_queue_attributes(QueueUrl=queue.url, Attributes={"VisibilityTimeout": "30"})
    queue.serve(lambda _: {"batchItemFailures": []}, reserved=0)
    account = queue.functions.account("account")
    throttled = account.enter

    def enter(function: str) -> str | None:
        if account.throttles[function] == 2:
            return None
        return throttled(function)

    account.enter = enter  # type: ignore[method-assign]
    queue.send("patient")

    queue.deliver_all()

    (event,) = queue.functions.invocations["reader"]
    assert event["Records"][0]["attributes"]["ApproximateReceiveCount"] == "1"


def test_of_a_batch_only_what_is_named_as_failed_comes_back(queue: Queue) -> None:
    def handle(event: Any) -> Any:
        failed = [record for record in event["Records"] if record["body"] == "bad"]
        return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r in failed]}

    queue.serve(handle)
    queue.send("good", "bad", "good")

    queue.deliver_all(batch_size=10)

    sizes = [len(event["Records"]) for event in queue.functions.invocations["reader"]]
    assert sizes == [3, *[1] * (MAX_RECEIVES - 1)]
    assert queue.dead_letters() == ["bad"]
