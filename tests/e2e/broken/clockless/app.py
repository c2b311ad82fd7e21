"""An explore function that ignores its clock: time stands still for it, so it never hurries."""

import dataclasses
from datetime import UTC, datetime

from idea_explorer.domain.json import JsonObject
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.settle import settle


class StoppedClock:
    def __init__(self) -> None:
        self._now = datetime.now(UTC)

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        """No time passes."""


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    work = handlers.work_in(event)
    if work.settle:
        exploration = settle(work.id, work.run, work.why, deployment.deps())
    else:
        deps = dataclasses.replace(deployment.deps(), clock=StoppedClock())
        exploration = explore(work.id, work.run, deps)
    return {
        "status": exploration.run.outcome or exploration.status,
        "approval_seconds": deployment.approval_seconds(),
    }
