"""Invokes the notify function asynchronously: Lambda queues and retries the request."""

import json
from collections.abc import Callable
from typing import Any

from idea_explorer.adapters.aws.client import map_aws_errors
from idea_explorer.domain.ids import ExplorationId


class LambdaNotices:
    def __init__(self, function: str, connect: Callable[[], Any]) -> None:
        self._function = function
        self._connect = connect

    def ask(self, exploration_id: ExplorationId, run: int) -> None:
        payload = json.dumps({"id": exploration_id, "run": run, "unattended": True}).encode()
        with map_aws_errors("Lambda"):
            self._connect().invoke(
                FunctionName=self._function, InvocationType="Event", Payload=payload
            )
