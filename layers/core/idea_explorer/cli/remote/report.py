"""`idea report`: the report as markdown."""

import argparse
import json
import sys

from idea_explorer.cli.remote.client import Remote
from idea_explorer.domain.text import harmless


def run(arguments: argparse.Namespace) -> int:
    with Remote.from_environment() as remote:
        content = remote.text(remote.path(arguments.id, "report"))
    if arguments.json:
        print(json.dumps({"id": arguments.id, "content": content}, ensure_ascii=False))
    else:
        print(harmless(content) if sys.stdout.isatty() else content)
    return 0
