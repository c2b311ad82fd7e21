"""`idea admin token`: who may call the API."""

import argparse
import json
import sys

from idea_explorer.cli.admin.deployment import Place, place_of
from idea_explorer.usecases.manage_tokens import add_token, list_tokens, revoke_tokens
from idea_explorer.wiring.local import system_clock


def run(arguments: argparse.Namespace) -> int:
    place = place_of("tokens", arguments.stack)
    ACTIONS[arguments.action](place, arguments)
    return 0


def _add(place: Place, arguments: argparse.Namespace) -> None:
    token = add_token(arguments.owner, place.secrets, place.name, system_clock())
    if arguments.json:
        print(json.dumps({"owner": arguments.owner, "token": token}))
        return
    print(token)
    print("idea: this is the only time it is shown", file=sys.stderr)


def _revoke(place: Place, arguments: argparse.Namespace) -> None:
    count = revoke_tokens(arguments.owner, place.secrets, place.name)
    if arguments.json:
        print(json.dumps({"owner": arguments.owner, "revoked": count}))
        return
    print(f"{count} of {arguments.owner}'s tokens revoked; within six minutes none is accepted")


def _list(place: Place, arguments: argparse.Namespace) -> None:
    found = list_tokens(arguments.owner, place.secrets, place.name)
    if arguments.json:
        print(json.dumps([{"owner": t.owner, "created": t.created.isoformat()} for t in found]))
        return
    for token in found:
        print(f"{token.owner:<20} since {token.created:%Y-%m-%d}")


ACTIONS = {"add": _add, "revoke": _revoke, "list": _list}
