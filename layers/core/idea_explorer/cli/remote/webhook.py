"""`idea webhook resend`: tell the receiver of an exploration once more, from a deployment or from here."""

import argparse
import json
import os
import sys

from idea_explorer.cli.remote.client import Remote
from idea_explorer.domain.json import JsonObject


def run(arguments: argparse.Namespace) -> int:
    told = _sent_by_deployment(arguments) if os.environ.get("IDEA_API_URL") else _sent(arguments)
    if arguments.json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        print(told["status"])
    if told["last_error"] and not arguments.quiet:
        print(f"idea: {told['last_error']}", file=sys.stderr)
    return 0 if told["status"] == "delivered" else 1


def _sent_by_deployment(arguments: argparse.Namespace) -> JsonObject:
    with Remote.from_environment() as remote:
        delivery: JsonObject = remote.post(remote.path(arguments.id, "webhook"), {})
    return delivery


def _sent(arguments: argparse.Namespace) -> JsonObject:
    from idea_explorer.cli.environment import settings_for
    from idea_explorer.usecases.find import find
    from idea_explorer.usecases.notify import resend
    from idea_explorer.wiring.deps import local_deps
    from idea_explorer.wiring.local import LOCAL_OWNER, cli_log

    deps = local_deps(settings_for(arguments.research), cli_log(None))
    exploration = find(arguments.id, LOCAL_OWNER, deps)
    delivery: JsonObject = resend(exploration.id, deps).delivery.model_dump(mode="json")
    return delivery
