"""Submits by the API, as a process that is killed when it has stored the exploration."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from idea_explorer.domain.ids import ExplorationId
from tests.fakes.api import Api
from tests.fakes.service import FakeQueue


class DeadlyQueue(FakeQueue):
    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def submit_once(folder: Path, body: object, key: Mapping[str, str]) -> None:
    api = Api(folder, queue=DeadlyQueue())
    api.context.seconds = 1  # as long as the dead call holds the key
    api.post("/explorations", body, headers=dict(key))
