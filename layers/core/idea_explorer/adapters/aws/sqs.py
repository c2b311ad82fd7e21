"""The work queue on SQS, and its dead-letter queue."""

import json
import re
from collections.abc import Callable
from typing import Any

from idea_explorer.adapters.aws.client import map_aws_errors
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.ids import ExplorationId

SYSTEM = "SQS"
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
        with map_aws_errors(SYSTEM):
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
        with map_aws_errors(SYSTEM):
            self._connect().send_message(
                QueueUrl=self._dead_letters,
                MessageBody=_clean(text),
                MessageAttributes={"reason": attribute},
            )


def _clean(text: str) -> str:
    return UNSENDABLE.sub("?", text) or "(empty)"
