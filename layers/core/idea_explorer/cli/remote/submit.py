"""`idea submit`: send an idea to a deployment."""

import argparse
import json
import sys
import uuid

from idea_explorer.cli.explore import request_from
from idea_explorer.cli.remote.client import Remote
from idea_explorer.cli.remote.watch import follow
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.json import JsonObject
from idea_explorer.wiring import system_clock

ATTEMPTS = 3
PAUSE_SECONDS = 1.0


def run(arguments: argparse.Namespace) -> int:
    body: JsonObject = request_from(arguments).model_dump(mode="json", exclude_unset=True)
    # with a key of its own a submission can be repeated without starting anything twice
    key = arguments.idempotency_key or str(uuid.uuid4())
    with Remote.from_environment() as remote:
        answer = _sent(remote, body, key)
        if arguments.watch:
            return follow(remote, str(answer["id"]), arguments)
    if arguments.json:
        print(json.dumps(answer, ensure_ascii=False))
        return 0
    print(answer["id"])
    if not arguments.quiet:
        print(
            f"idea: {answer['status']}; follow it with: idea watch {answer['id']}", file=sys.stderr
        )
    return 0


def _sent(remote: Remote, body: JsonObject, key: str) -> JsonObject:
    for attempt in range(ATTEMPTS):
        try:
            answer: JsonObject = remote.post("/explorations", body, {"Idempotency-Key": key})
        except ExplorerError as error:
            if not error.retryable or attempt == ATTEMPTS - 1:
                raise
            system_clock().sleep(PAUSE_SECONDS)
        else:
            return answer
    raise AssertionError
