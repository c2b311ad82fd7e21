"""What a deployment could not process: messages of the queue, and asynchronous calls of functions.

SQS's own redrive does not help here: it sends a message back to the queue that it came from, and these
did not come from one. Dispatch and Lambda sent them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from idea_explorer.adapters.aws.client import map_aws_errors
from idea_explorer.ports import DeadLetter

VISIBILITY_SECONDS = 60  # nobody else gets a message while it is looked at
WAIT_SECONDS = 1  # a short poll asks only some of SQS's servers
MAX_LISTED = 1_000
MAX_CALL_REASON = 300
NO_REASON = "It was delivered too often without success."


class SqsDeadLetters:
    """Received messages stay invisible to others until `receive_all` ends."""

    def __init__(
        self,
        queue_url: str,
        dead_letter_queue_url: str,
        failed_calls_queue_url: str,
        connect_sqs: Callable[[], Any],
        connect_lambda: Callable[[], Any],
    ) -> None:
        self._queue = queue_url
        self._sources = {"message": dead_letter_queue_url, "call": failed_calls_queue_url}
        self._sqs = connect_sqs
        self._lambda = connect_lambda

    @contextmanager
    def receive_all(self) -> Iterator[list[DeadLetter]]:
        """All that is there, the oldest first. What is neither retried nor dropped becomes visible again."""
        found: list[DeadLetter] = []
        try:
            for kind in self._sources:
                found += self._receive(kind)
            yield sorted(found, key=lambda letter: letter.sent_at)
        finally:
            for letter in found:
                self._release(letter)

    def retry(self, letter: DeadLetter) -> None:
        """Send a message to the queue again, or make the call again."""
        if letter.kind == "message":
            with map_aws_errors("SQS"):
                self._sqs().send_message(QueueUrl=self._queue, MessageBody=letter.body)
        else:
            with map_aws_errors("Lambda"):
                self._lambda().invoke(
                    FunctionName=letter.function,
                    InvocationType="Event",
                    Payload=letter.body.encode(),
                )
        self.drop(letter)

    def drop(self, letter: DeadLetter) -> None:
        with map_aws_errors("SQS"):
            self._sqs().delete_message(
                QueueUrl=self._sources[letter.kind], ReceiptHandle=letter.receipt
            )

    def _receive(self, kind: str) -> list[DeadLetter]:
        found: dict[str, DeadLetter] = {}
        while len(found) < MAX_LISTED:
            with map_aws_errors("SQS"):
                answer = self._sqs().receive_message(
                    QueueUrl=self._sources[kind],
                    MaxNumberOfMessages=10,
                    VisibilityTimeout=VISIBILITY_SECONDS,
                    WaitTimeSeconds=WAIT_SECONDS,
                    MessageAttributeNames=["All"],
                    MessageSystemAttributeNames=["SentTimestamp"],
                )
            messages = answer.get("Messages", [])
            if not messages:
                break
            for message in messages:
                letter = _message(message) if kind == "message" else _call(message)
                found[letter.id] = letter
        return [*found.values()]

    def _release(self, letter: DeadLetter) -> None:
        """Fails for a letter that was dropped, or whose time is over: then there is nothing to release."""
        from botocore.exceptions import ClientError

        try:
            self._sqs().change_message_visibility(
                QueueUrl=self._sources[letter.kind],
                ReceiptHandle=letter.receipt,
                VisibilityTimeout=0,
            )
        except ClientError:
            return


def _message(message: Mapping[str, Any]) -> DeadLetter:
    return DeadLetter(
        kind="message",
        id=message["MessageId"],
        body=message["Body"],
        reason=_attribute(message, "reason") or NO_REASON,
        sent_at=_sent_at(message),
        receipt=message["ReceiptHandle"],
    )


def _call(message: Mapping[str, Any]) -> DeadLetter:
    """A call as Lambda stores it for a destination, or an event that EventBridge could not deliver."""
    stored = json.loads(message["Body"])
    context = stored.get("requestContext")
    if context is None:
        function, body = _attribute(message, "TARGET_ARN"), message["Body"]
        reason = _attribute(message, "ERROR_MESSAGE")
    else:
        function, body = context["functionArn"], json.dumps(stored.get("requestPayload"))
        error = stored.get("responsePayload") or {}
        reason = f"{context['condition']}: {error.get('errorType', '')}".rstrip(": ")
    return DeadLetter(
        kind="call",
        id=message["MessageId"],
        body=body,
        reason=reason[:MAX_CALL_REASON],
        sent_at=_sent_at(message),
        receipt=message["ReceiptHandle"],
        function=function,
    )


def _attribute(message: Mapping[str, Any], name: str) -> str:
    return str(message.get("MessageAttributes", {}).get(name, {}).get("StringValue", ""))


def _sent_at(message: Mapping[str, Any]) -> datetime:
    return datetime.fromtimestamp(int(message["Attributes"]["SentTimestamp"]) / 1_000, tz=UTC)
