"""The commands of `idea admin`."""

import argparse
from typing import TYPE_CHECKING, NoReturn, cast

from idea_explorer.cli.command_parser import CommandParser
from idea_explorer.cli.flags import add_command, add_json

if TYPE_CHECKING:
    from idea_explorer.cli.flags import Commands


def add_admin(commands: "Commands") -> None:
    admin = add_command(commands, "admin", "admin.require_action", "operate a deployment")
    admin.set_defaults(
        examples="idea admin token, secret, dead-letters, smoke, spend, pause or unpause, with --help"
    )
    parser_class: type[CommandParser] = _AdminParser
    kinds = admin.add_subparsers(title="what to do", metavar="COMMAND", parser_class=parser_class)
    token = _add_kind(
        kinds,
        "token",
        "API tokens",
        "idea admin token add OWNER, idea admin token revoke OWNER or idea admin token list",
    )
    actions = {
        "add": ("admin.add_token", "print a new token for an owner, once"),
        "revoke": ("admin.revoke_tokens", "revoke all tokens of an owner"),
        "list": ("admin.list_tokens", "list the owners of tokens, and since when they have them"),
    }
    for action, (run, text) in actions.items():
        command = add_command(token, action, run, text)
        command.add_argument(
            "owner", nargs="?" if action == "list" else None, help="the owner, a short name"
        )
        if action == "revoke":
            command.add_argument(
                "--keep-newest", action="store_true", help="keep the newest, to replace a token"
            )
        _add_stack(command)
    secret = _add_kind(kinds, "secret", "secrets", "idea admin secret set github")
    _hide_input(kinds.choices["secret"])
    command = add_command(secret, "set", "admin.set_secret", "set a secret, read from stdin")
    _hide_input(command)
    command.add_argument("name", choices=["github", "anthropic", "qdrant", "tidal", "webhook"])
    _add_stack(command)
    letters = _add_kind(
        kinds,
        "dead-letters",
        "what could not be processed",
        "idea admin dead-letters list, retry or drop",
    )
    _add_stack(
        add_command(letters, "list", "dead_letters.list_letters", "list them, the oldest first")
    )
    for action, (run, text) in {
        "retry": (
            "dead_letters.retry_letters",
            "send messages to the queue again, make calls again",
        ),
        "drop": ("dead_letters.drop_letters", "delete them"),
    }.items():
        command = add_command(letters, action, run, text)
        command.add_argument("ids", nargs="*", metavar="LETTER", help="as listed")
        command.add_argument("--all", action="store_true", help="all that are there")
        _add_stack(command)
    smoke = add_command(
        kinds, "smoke", "smoke.run", "run one offline exploration through a deployment"
    )
    smoke.add_argument(
        "--seconds",
        type=float,
        default=180,
        metavar="S",
        help="wait this long, default %(default)s",
    )
    _add_stack(smoke)
    spend = add_command(
        kinds, "spend", "spend.run_for_owners", "show what each owner spent and has reserved"
    )
    spend.add_argument(
        "--days", type=int, default=7, metavar="N", help="1 to 30, default %(default)s"
    )
    _add_stack(spend)
    for action, text in {
        "pause": "start no more explorations; those that run go on to their end",
        "unpause": "start explorations again",
    }.items():
        _add_stack(add_command(kinds, action, f"admin.{action}", text))


class _AdminParser(CommandParser):
    """With `may_hold_secret`, it repeats nothing of a command that it does not understand."""

    may_hold_secret = False

    def error(self, message: str) -> NoReturn:
        if self.may_hold_secret:
            message = (
                "Give the secret's name and no more. The value is read from standard input, never from the"
                " command line."
            )
        super().error(message)


def _hide_input(parser: argparse.ArgumentParser) -> None:
    cast("_AdminParser", parser).may_hold_secret = True


def _add_kind(commands: "Commands", name: str, text: str, examples: str) -> "Commands":
    """Commands below a command, which by itself says which there are."""
    kind = add_command(commands, name, "admin.require_action", text)
    kind.set_defaults(examples=examples)
    return kind.add_subparsers(metavar="ACTION")


def _add_stack(command: argparse.ArgumentParser) -> None:
    command.add_argument("--stack", metavar="NAME", help="the deployment's stack (or IDEA_STACK)")
    add_json(command)
