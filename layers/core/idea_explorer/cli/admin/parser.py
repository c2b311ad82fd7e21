"""`idea admin` and its flags."""

import argparse
from collections.abc import Callable


def add_admin_commands(add: Callable[[str, str, str], argparse.ArgumentParser]) -> None:
    admin = add("admin", "admin.help", "an operator's set-up of a deployment")
    kinds = admin.add_subparsers(title="what to set up", metavar="KIND")

    token = kinds.add_parser("token", help="API tokens").add_subparsers(metavar="ACTION")
    for action, text in TOKEN.items():
        command = token.add_parser(action, help=text, description=text)
        command.set_defaults(module="admin.token", action=action, parser=command)
        command.add_argument(
            "owner", nargs="?" if action == "list" else None, help="whose: a short name"
        )
        _common(command)

    secret = kinds.add_parser("secret", help="secrets").add_subparsers(metavar="ACTION")
    command = secret.add_parser("set", help="set a secret from stdin")
    command.set_defaults(module="admin.secret", parser=command)
    command.add_argument("name", choices=["github", "anthropic", "qdrant", "tidal", "webhook"])
    _common(command)


TOKEN = {
    "add": "print a new token for an owner, once",
    "revoke": "take all of an owner's tokens away",
    "list": "show whose tokens there are, and since when",
}


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--stack", metavar="NAME", help="the deployment's stack (or IDEA_STACK)")
    command.add_argument("--json", action="store_true", help="print JSON instead")
    command.add_argument("--debug", action="store_true", help="show tracebacks")
