"""`idea report`: the report as markdown, of a deployment or else of this machine."""

import argparse
import json
import os
import sys

from idea_explorer.cli.environment import settings_for
from idea_explorer.cli.remote.client import Remote
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.text import strip_control_characters
from idea_explorer.usecases.find import find
from idea_explorer.wiring.deps import local_deps
from idea_explorer.wiring.local import LOCAL_OWNER, cli_log


def run(arguments: argparse.Namespace) -> int:
    if os.environ.get("IDEA_API_URL"):
        with Remote.from_environment() as remote:
            content = remote.text(remote.path(arguments.id, "report"))
    else:
        content = _kept_here(arguments)
    if arguments.json:
        print(json.dumps({"id": arguments.id, "content": content}, ensure_ascii=False))
    else:
        print(strip_control_characters(content) if sys.stdout.isatty() else content)
    return 0


def _kept_here(arguments: argparse.Namespace) -> str:
    deps = local_deps(settings_for(arguments.research), cli_log(None))
    exploration = find(arguments.id, LOCAL_OWNER, deps)
    try:
        return deps.reports.load_report(exploration.id)
    except MissingError as error:
        raise MissingError(
            f"Exploration {exploration.id} is {exploration.status} and has no report."
        ) from error
