"""`idea list`: an owner's explorations, newest first."""

import argparse
import json
import sys

from idea_explorer.api.views import ExplorationList
from idea_explorer.cli.columns import terminal_width
from idea_explorer.cli.remote.client import Remote
from idea_explorer.cli.remote.shown import row


def run(arguments: argparse.Namespace) -> int:
    with Remote.from_environment() as remote:
        found = remote.get(
            "/explorations",
            status=arguments.status,
            mode=arguments.mode,
            toolset=arguments.toolset,
            limit=arguments.limit,
            cursor=arguments.cursor,
        )
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    listing = ExplorationList.model_validate(found)
    width = terminal_width()
    for line in listing.explorations:
        print(line.id if arguments.quiet else row(line, width))
    if not listing.explorations and not arguments.quiet:
        chosen = arguments.status or arguments.mode or arguments.toolset or arguments.cursor
        empty = (
            "no exploration is like that" if chosen else 'nothing yet; start with: idea submit "…"'
        )
        print(f"idea: {empty}", file=sys.stderr)
    if listing.cursor and not arguments.quiet:
        print(f"idea: there is more; go on with: --cursor {listing.cursor}", file=sys.stderr)
    return 0
