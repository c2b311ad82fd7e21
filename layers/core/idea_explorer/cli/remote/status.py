"""`idea status`: how far an exploration has come."""

import argparse

from idea_explorer.cli.remote.client import Remote
from idea_explorer.cli.remote.shown import show


def run(arguments: argparse.Namespace) -> int:
    with Remote.from_environment() as remote:
        show(remote.exploration(arguments.id), arguments)
    return 0
