"""`idea report`: the report as markdown."""

import argparse
import json

from idea_explorer.cli.remote.client import Remote


def run(arguments: argparse.Namespace) -> int:
    with Remote.from_environment() as remote:
        content = remote.text(remote.path(arguments.id, "report"))
    if arguments.json:
        print(json.dumps({"id": arguments.id, "content": content}, ensure_ascii=False))
    else:
        print(content)
    return 0
