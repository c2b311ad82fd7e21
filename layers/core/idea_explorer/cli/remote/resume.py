"""`idea resume`: go on with one that ended early, at a deployment or else on this machine."""

import argparse
import os

from idea_explorer.cli import resuming
from idea_explorer.cli.remote.client import Remote
from idea_explorer.cli.remote.shown import show
from idea_explorer.cli.remote.watch import follow
from idea_explorer.domain.json import JsonObject

LIMITS = ("max_steps", "max_cost_usd", "deadline_seconds")


def run(arguments: argparse.Namespace) -> int:
    if not os.environ.get("IDEA_API_URL"):
        return resuming.run(arguments)
    given = {name: getattr(arguments, name) for name in LIMITS}
    body: JsonObject = {name: value for name, value in given.items() if value is not None}
    with Remote.from_environment() as remote:
        last = remote.last_event_id(arguments.id) if arguments.watch else 0
        queued = remote.post(remote.path(arguments.id, "resume"), body)
        if arguments.watch:
            return follow(remote, arguments.id, arguments, after=last, concludes=True)
    show(queued, arguments)
    return 0
