"""Has the notify function send a webhook, without waiting for it: Lambda keeps and repeats the request."""

import json
from collections.abc import Callable
from typing import Any

from idea_explorer.adapters.aws.client import aws_errors
from idea_explorer.domain.ids import ExplorationId


class LambdaNotices:
    def __init__(self, function: str, connect: Callable[[], Any]) -> None:
        self._function = function
        self._connect = connect

    def ask(self, exploration_id: ExplorationId, run: int) -> None:
        asked = {"id": exploration_id, "run": run, "unattended": True}
        payload = json.dumps(asked).encode()
        with aws_errors("Lambda"):
            self._connect().invoke(
                FunctionName=self._function, InvocationType="Event", Payload=payload
            )
