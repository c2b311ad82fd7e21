"""A dispatch function that is killed, once, when it has marked an exploration but not started it."""

import dataclasses
import os
import signal
from pathlib import Path

from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.queue_messages import QueueMessage
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.ports import Workflow
from idea_explorer.usecases.admission import admit
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.dispatch import dispatch


class DyingOnce:
    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow

    def start(self, exploration_id: ExplorationId, run: int, deadline_seconds: int) -> bool:
        died = Path(os.environ["DIE_ONCE"])
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self._workflow.start(exploration_id, run, deadline_seconds)

    def is_running(self, exploration_id: ExplorationId, run: int) -> bool:
        return self._workflow.is_running(exploration_id, run)


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    result = handlers.each_message(event, _dispatch)
    admit(_dying())
    return result


def _dispatch(message: QueueMessage) -> JsonObject:
    return {"dispatched": dispatch(message, _dying())}


def _dying() -> Deps:
    deps = deployment.deps()
    return dataclasses.replace(deps, workflow=lambda: DyingOnce(deps.workflow()))
