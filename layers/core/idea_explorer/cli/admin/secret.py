"""`idea admin secret set`: from stdin, so that it stands in no shell history and no process list."""

import argparse
import getpass
import json
import sys

from idea_explorer.cli.admin.deployment import place_of
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.text import is_header_safe

MAX_SECRET = 10_000


def run(arguments: argparse.Namespace) -> int:
    value = _read(arguments.name).strip()
    if len(value) > MAX_SECRET or not is_header_safe(value):
        raise InvalidRequestError(
            "stdin holds no token or key.", hint="Send exactly one, without spaces."
        )
    place = place_of(arguments.name, arguments.stack)
    place.secrets.write(place.name, value)
    said = f"{arguments.name} set; it is used within five minutes, without a deploy"
    print(json.dumps({"set": arguments.name}) if arguments.json else said)
    return 0


def _read(name: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"{name}: ")
    return sys.stdin.read(MAX_SECRET + 1)
