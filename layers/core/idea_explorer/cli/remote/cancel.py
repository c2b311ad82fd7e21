"""`idea cancel`: stop soon, keeping what is there."""

import argparse

from idea_explorer.cli.remote.client import Remote
from idea_explorer.cli.remote.shown import show


def run(arguments: argparse.Namespace) -> int:
    with Remote.from_environment() as remote:
        show(remote.post(remote.path(arguments.id, "cancel"), {}), arguments)
    return 0
