"""`idea submit`: send an idea to a deployment."""

import argparse
import json
import sys
import uuid
from collections.abc import Iterator

from idea_explorer.cli.explore import request_from
from idea_explorer.cli.files import named_files
from idea_explorer.cli.remote.client import Remote
from idea_explorer.cli.remote.files import send_files
from idea_explorer.cli.remote.watch import follow
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.retry import RetryPolicy, retry
from idea_explorer.domain.text import one_line, strip_control_characters
from idea_explorer.wiring.local import system_clock

RETRY = RetryPolicy(first=1.0, factor=1.0, attempts=3)


def run(arguments: argparse.Namespace) -> int:
    request = request_from(arguments)
    files = named_files(arguments.file, request.toolset)
    body: JsonObject = request.model_dump(mode="json", exclude_unset=True)
    # with a key of its own a submission can be repeated without starting anything twice
    key = arguments.idempotency_key or str(uuid.uuid4())
    with Remote.from_environment() as remote:
        if arguments.file:
            body["files"] = [*send_files(remote, files)]
        answer = _sent(remote, body, key)
        if arguments.watch and "reused" not in answer:
            return follow(remote, str(answer["id"]), arguments, concludes=True)
    if arguments.json:
        print(json.dumps(answer, ensure_ascii=False))
        return 0
    print(answer["id"])
    if not arguments.quiet:
        for line in _told(answer):
            print(f"idea: {line}", file=sys.stderr)
    return 0


def _told(answer: JsonObject) -> Iterator[str]:
    if "reused" in answer:
        yield f"answered by {answer['reused']}; read it with: idea report {answer['id']}"
        return
    similar = answer.get("similar")
    for hit in similar if isinstance(similar, list) else []:
        assert isinstance(hit, dict)
        yield strip_control_characters(
            f"similar: {one_line(str(hit['title']), 80)} ({hit['path']})"
        )
    yield f"{answer['status']}; follow it with: idea watch {answer['id']}"


def _sent(remote: Remote, body: JsonObject, key: str) -> JsonObject:
    headers = {"Idempotency-Key": key}
    return retry(lambda: remote.post("/explorations", body, headers), RETRY, system_clock())
