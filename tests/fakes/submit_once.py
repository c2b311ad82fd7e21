"""Submits by the API, as a process that is killed when it has stored the exploration.

`python -m tests.fakes.submit_once FOLDER KEY BODY`
"""

import json
import os
import signal
import sys
from pathlib import Path

from idea_explorer.domain.ids import ExplorationId
from tests.fakes.api import Api
from tests.fakes.service import FakeQueue


class DeadlyQueue(FakeQueue):
    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def main(folder: Path, key: str, body: str) -> None:
    api = Api(folder, queue=DeadlyQueue())
    api.context.seconds = 1  # as long as the dead call holds the key
    api.post("/explorations", json.loads(body), headers={"Idempotency-Key": key})


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
