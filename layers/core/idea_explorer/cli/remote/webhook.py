"""`idea webhook resend`: tell the receiver of an exploration once more."""

import argparse
import json
import sys

from idea_explorer.cli.remote.client import Remote


def run(arguments: argparse.Namespace) -> int:
    with Remote.from_environment() as remote:
        told = remote.post(remote.path(arguments.id, "webhook"), {})
    if arguments.json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        print(told["status"])
    if told["last_error"] and not arguments.quiet:
        print(f"idea: {told['last_error']}", file=sys.stderr)
    return 0 if told["status"] == "delivered" else 1
