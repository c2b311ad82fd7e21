"""The work queue on SQS, and the dead-letter queue beside it."""

import json
import re
from collections.abc import Callable
from typing import Any

from idea_explorer.adapters.aws.client import aws_errors
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.ids import ExplorationId

SYSTEM = "SQS"
MAX_DELAY_SECONDS = 900  # SQS allows no more
MAX_REASON = 1_000
MAX_BODY_BYTES = 250_000  # fits, with the reason, where a queue takes 256 KB
UNSENDABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by SQS


class SqsWorkQueue:
    """Functions that set nothing aside need no dead-letter queue."""

    def __init__(
        self, queue_url: str, dead_letter_queue_url: str | None, connect: Callable[[], Any]
    ) -> None:
        self._queue = queue_url
        self._dead_letters = dead_letter_queue_url
        self._connect = connect

    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        with aws_errors(SYSTEM):
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
        said = reason[:MAX_REASON].encode(errors="replace").decode()
        attribute = {"DataType": "String", "StringValue": _sendable(said)}
        with aws_errors(SYSTEM):
            self._connect().send_message(
                QueueUrl=self._dead_letters,
                MessageBody=_sendable(text),
                MessageAttributes={"reason": attribute},
            )


def _sendable(text: str) -> str:
    return UNSENDABLE.sub("?", text) or "(empty)"
