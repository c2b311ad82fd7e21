"""The commands and their flags. Only argparse is loaded to print help."""

import argparse
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from idea_explorer import __version__
from idea_explorer.domain.toolsets import DEFAULT_TOOLSET, TOOLSETS

if TYPE_CHECKING:
    Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001

EPILOG = """\
Without ANTHROPIC_API_KEY an offline model runs every step but does no research.
With IDEA_API_URL set, commands on explorations talk to that deployment; without
it, to this machine. `idea doctor` checks what is configured and what is missing."""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="idea",
        description="Explore ideas with a bounded research agent.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"idea {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_explore(commands)
    _add_submit(commands)
    _add_list(commands)
    _add_explorations(commands)
    _add_decisions(commands)
    _add_tools(commands)
    _add_replay(commands)
    _add_music(commands)
    _add_serve(commands)
    _add_admin(commands)
    doctor = _add(
        commands, "doctor", "doctor.run", "check the set-up: what is missing and how to fix it"
    )
    _add_research(doctor)
    _add_json(doctor)
    return parser


def _add(commands: "Commands", name: str, run: str, text: str) -> argparse.ArgumentParser:
    """`run` is the command's module and function, loaded when it is called."""
    command = commands.add_parser(name, help=text, description=text)
    command.set_defaults(run=run, parser=command)
    command.add_argument("--debug", action="store_true", help="show tracebacks and the log")
    return command


def _add_research(
    command: argparse.ArgumentParser, text: str = "the folder with ideas/, or with your notes"
) -> None:
    command.add_argument("--research", metavar="DIR", help=text)


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead")


def _add_output(command: argparse.ArgumentParser) -> None:
    _add_json(command)
    command.add_argument("--quiet", action="store_true", help="print only what a script needs")


def _add_explore(commands: "Commands") -> None:
    command = _add(commands, "explore", "explore.run", "run one exploration on this machine")
    _add_request(command)
    _add_research(command)
    command.add_argument(
        "--commit", action="store_true", help="commit the report to the folder's git"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _add_submit(commands: "Commands") -> None:
    command = _add(commands, "submit", "explorations.submit", "send an idea to a deployment")
    _add_request(command)
    command.add_argument("--watch", action="store_true", help="follow it until it ends")
    command.add_argument(
        "--idempotency-key",
        metavar="KEY",
        help="submitting again with the same key starts nothing new",
    )
    _add_output(command)


def _add_request(command: argparse.ArgumentParser) -> None:
    """Every field of the request, under its own name. Ranges are checked once, with the request."""
    command.add_argument(
        "--estimate",
        action="store_true",
        help="print what it would cost and take, and start nothing",
    )
    command.add_argument("idea", nargs="?", help="the idea; read from stdin when left out or '-'")
    command.add_argument("--toolset", help=_toolset_names(" (default)"))
    command.add_argument("--mode", help="research: business (default) or exploration")
    command.add_argument(
        "--depth", help="research: quick (default), standard or deep; sets steps, time and length"
    )
    command.add_argument("--model", help="sonnet (default), opus, or haiku for cheap runs")
    command.add_argument("--effort", help="how hard the model thinks: low, medium or high")
    command.add_argument("--context", metavar="TEXT|FILE", help="background, as text or a file")
    command.add_argument(
        "--update", action="store_true", default=None, help="append to existing research"
    )
    command.add_argument("--continue-from", metavar="ID", help="build on an earlier exploration")
    command.add_argument(
        "--if-exists", metavar="run|reuse", help="reuse: answer with existing research if any"
    )
    command.add_argument(
        "--review-plan",
        action="store_true",
        default=None,
        help="research: approve the plan before it is followed",
    )
    command.add_argument(
        "--collect-tool-stats", action="store_true", default=None, help="stats list every tool call"
    )
    command.add_argument("--max-cost-usd", type=float, metavar="USD", help="the most it may cost")
    command.add_argument("--max-steps", type=int, metavar="N", help="model calls, 1 to 20")
    command.add_argument(
        "--deadline-seconds", type=int, metavar="S", help="60 to 840, default by depth"
    )
    command.add_argument("--webhook-url", metavar="URL", help="https URL to notify when it ends")
    command.add_argument(
        "--callback-secret", metavar="SECRET", help="key that signs the webhook's messages"
    )
    command.add_argument("--repository", metavar="OWNER/NAME", help="code: the repository")
    command.add_argument("--ref", help="code: branch, tag or commit")
    _add_files(command)
    command.add_argument(
        "--allow-fetch-after-private",
        action="store_true",
        default=None,
        help="open pages that other pages name, also after it has read your files or research",
    )
    command.add_argument(
        "--allowed-domains", metavar="DOMAINS", help="search and read only there: example.com,…"
    )
    command.add_argument(
        "--blocked-domains", metavar="DOMAINS", help="search and read nowhere there"
    )
    command.add_argument(
        "--user-location", metavar="PLACE", help="search from there: city=Berlin,country=DE"
    )


def _toolset_names(mark: str = "") -> str:
    *names, last = (f"{name}{mark if name == DEFAULT_TOOLSET else ''}" for name in TOOLSETS)
    return f"{', '.join(names)} or {last}"


def _add_files(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--file", action="append", metavar="PATH", help="a file for the assistant; may be repeated"
    )


def _add_list(commands: "Commands") -> None:
    command = _add(commands, "list", "explorations.list_all", "list explorations, newest first")
    command.add_argument("--status", help="only those in this status")
    command.add_argument("--mode", help="only those of this mode")
    command.add_argument("--toolset", help="only those of this toolset")
    command.add_argument("--limit", type=int, metavar="N", help="1 to 100, default 20")
    command.add_argument("--cursor", help="continue where an earlier list stopped")
    _add_target(command)


def _add_explorations(commands: "Commands") -> None:
    """Commands on one exploration."""
    texts = {
        "status": "show the status of an exploration",
        "watch": "follow an exploration live",
        "report": "print the report",
        "cancel": "stop an exploration soon and keep what it has so far",
        "resume": "continue an exploration that ended early",
        "revert": "undo what an exploration wrote; on GitHub with a pull request",
        "webhook": "send an exploration's webhook again",
    }
    for name, text in texts.items():
        command = _add(commands, name, f"explorations.{name}", text)
        if name == "webhook":
            command.add_argument("action", choices=["resend"])
        command.add_argument("id", help="the exploration's id")
        if name == "report":
            command.add_argument(
                "--format", choices=["m3u", "csv", "json"], help="the playlist alone, as a file"
            )
        if name == "resume":
            command.add_argument(
                "--max-steps", type=int, metavar="N", help="model calls from now on"
            )
            command.add_argument("--max-cost-usd", type=float, metavar="USD", help="for all runs")
            command.add_argument("--deadline-seconds", type=int, metavar="S", help="for this run")
            command.add_argument("--watch", action="store_true", help="follow it until it ends")
        _add_target(command)


def _add_target(command: argparse.ArgumentParser) -> None:
    _add_research(command, "without IDEA_API_URL: the folder that the exploration ran in")
    _add_output(command)


def _add_decisions(commands: "Commands") -> None:
    for name in ("approve", "reject"):
        command = _add(commands, name, "approvals.run", f"{name} changes that a run proposes")
        command.set_defaults(approves=name == "approve")
        command.add_argument("id", help="the exploration's id")
        command.add_argument("approval", nargs="?", help="which change; all pending by default")
        if name == "approve":
            command.add_argument("--content", metavar="FILE", help="approve this content instead")
            command.add_argument(
                "--confirm-danger",
                action="store_true",
                help="approve a change to a file that runs by itself; only with its id",
            )
        else:
            command.add_argument("--reason", help="why; the model reads it")
        command.add_argument("--list", action="store_true", help="only show the changes")
        _add_target(command)


def _add_tools(commands: "Commands") -> None:
    tool = _add(commands, "tool", "tools.call", "run one tool by hand, without a model")
    tool.add_argument("name", nargs="?", help="the tool's name")
    tool.add_argument("input", nargs="?", help="its arguments as a JSON object")
    tool.add_argument("--stdin", action="store_true", help='read lines of {"name": …, "input": …}')
    tool.add_argument("--toolset", default=DEFAULT_TOOLSET, help=_toolset_names())
    _add_research(tool)
    _add_files(tool)
    tools = _add(commands, "tools", "tools.list_all", "show the tools as the model sees them")
    tools.add_argument("--toolset", help="only this toolset")
    _add_research(tools)
    tools.add_argument("--json", action="store_true", help="print the definitions as JSON")


def _add_replay(commands: "Commands") -> None:
    command = _add(commands, "replay", "replay.run", "run an exploration again from its transcript")
    command.add_argument("id", help="an exploration's id, or an exported transcript")
    command.add_argument("--export", metavar="FILE", help="also write the transcript to a file")
    _add_research(command, "the folder that the exploration ran in")
    _add_json(command)


def _add_music(commands: "Commands") -> None:
    index = _add(commands, "index", "music.index", "index tracks for music discovery")
    library = commands.add_parser("library", help="import, list and remove the music you own")
    library_commands = library.add_subparsers(title="commands", metavar="COMMAND", required=True)
    owned = _add(library_commands, "import", "music.import_owned", "import the tracks you own")
    owned.add_argument(
        "--replace", action="store_true", help="remove the tracks that are not in the file"
    )
    listed = _add(library_commands, "list", "music.list_owned", "list the tracks you own")
    _add_json(listed)
    removed = _add(library_commands, "remove", "music.remove_owned", "remove tracks by ISRC")
    removed.add_argument(
        "isrc", nargs="+", help="the ISRC of a track, as 'idea library list' shows"
    )
    for command in (index, owned):
        command.add_argument("file", help="a file of JSON lines; - for stdin")
    for command in (owned, listed, removed):
        command.add_argument(
            "--owner", default="local", help="the owner; of a token, in a deployment"
        )
    for command in (index, owned, listed, removed):
        _add_research(command, "the folder that holds the index")


def _add_serve(commands: "Commands") -> None:
    command = _add(
        commands, "serve", "serve.run", "run the API, the console and workers on this machine"
    )
    command.add_argument(
        "--host", default="127.0.0.1", help="address to listen on, default %(default)s"
    )
    command.add_argument(
        "--port", type=int, default=8765, help="default %(default)s; 0 for any free port"
    )
    command.add_argument(
        "--workers", type=int, default=2, metavar="N", help="runs at a time, default %(default)s"
    )
    _add_research(command)


def _add_admin(commands: "Commands") -> None:
    admin = _add(commands, "admin", "admin.require_action", "operate a deployment")
    admin.set_defaults(
        examples="idea admin token, secret, dead-letters, smoke, pause or unpause, with --help"
    )
    kinds = admin.add_subparsers(title="what to do", metavar="COMMAND")
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
        command = _add(token, action, run, text)
        command.add_argument(
            "owner", nargs="?" if action == "list" else None, help="the owner, a short name"
        )
        if action == "revoke":
            command.add_argument(
                "--keep-newest", action="store_true", help="keep the newest, to replace a token"
            )
        _add_stack(command)
    secret = _add_kind(
        kinds, "secret", "secrets", "idea admin secret set github", parser_class=_SecretParser
    )
    command = _add(secret, "set", "admin.set_secret", "set a secret, read from stdin")
    command.add_argument("name", choices=["github", "anthropic", "qdrant", "tidal", "webhook"])
    _add_stack(command)
    letters = _add_kind(
        kinds,
        "dead-letters",
        "what could not be processed",
        "idea admin dead-letters list, retry or drop",
    )
    _add_stack(_add(letters, "list", "dead_letters.list_letters", "list them, the oldest first"))
    for action, (run, text) in {
        "retry": (
            "dead_letters.retry_letters",
            "send messages to the queue again, make calls again",
        ),
        "drop": ("dead_letters.drop_letters", "delete them"),
    }.items():
        command = _add(letters, action, run, text)
        command.add_argument("ids", nargs="*", metavar="LETTER", help="as listed")
        command.add_argument("--all", action="store_true", help="all that are there")
        _add_stack(command)
    smoke = _add(kinds, "smoke", "smoke.run", "run one offline exploration through a deployment")
    smoke.add_argument(
        "--seconds",
        type=float,
        default=180,
        metavar="S",
        help="wait this long, default %(default)s",
    )
    _add_stack(smoke)
    for action, text in {
        "pause": "start no more explorations; those that run go on to their end",
        "unpause": "start explorations again",
    }.items():
        _add_stack(_add(kinds, action, f"admin.{action}", text))


class _SecretParser(argparse.ArgumentParser):
    """Repeats nothing of a command that it does not understand: that may be a key."""

    def error(self, message: str) -> NoReturn:
        super().error(
            "Give the secret's name and no more. The value is read from standard input, never from the"
            " command line."
        )


def _add_kind(
    commands: "Commands",
    name: str,
    text: str,
    examples: str,
    parser_class: type[argparse.ArgumentParser] = argparse.ArgumentParser,
) -> "Commands":
    """Commands below a command, which by itself says which there are."""
    kind = _add(commands, name, "admin.require_action", text)
    kind.set_defaults(examples=examples)
    return kind.add_subparsers(metavar="ACTION", parser_class=parser_class)


def _add_stack(command: argparse.ArgumentParser) -> None:
    command.add_argument("--stack", metavar="NAME", help="the deployment's stack (or IDEA_STACK)")
    _add_json(command)
