"""The commands and their flags. Only argparse is loaded to print help."""

import argparse
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from idea_explorer import __version__
from idea_explorer.cli.admin.parser import add_admin_commands
from idea_explorer.cli.remote.parser import add_remote_commands
from idea_explorer.domain.toolsets import DEFAULT_TOOLSET, TOOLSETS

if TYPE_CHECKING:
    Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001

EPILOG = """\
Without ANTHROPIC_API_KEY an offline model shows the whole way without research.
`idea doctor` says what is configured and what is missing."""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="idea",
        description="Explore ideas with a bounded research agent.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"idea {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _explore(commands)
    _tool(commands)
    _tools(commands)
    _replay(commands)
    _music(commands)
    _serve(commands)
    add_remote_commands(partial(_command, commands), add_request_flags)
    add_admin_commands(partial(_command, commands))
    _doctor(commands)
    return parser


def _command(commands: "Commands", name: str, module: str, text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.set_defaults(module=module, parser=command)
    command.add_argument("--debug", action="store_true", help="show tracebacks and the log")
    return command


def _explore(commands: "Commands") -> None:
    command = _command(commands, "explore", "explore", "run one exploration here")
    command.add_argument("idea", nargs="?", help="the idea; read from stdin when left out or '-'")
    add_request_flags(command)
    command.add_argument("--research", metavar="DIR", help="the folder whose ideas/ is used")
    command.add_argument(
        "--commit", action="store_true", help="commit the report to the folder's git"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.add_argument("--quiet", action="store_true", help="no progress on stderr")


def add_request_flags(command: argparse.ArgumentParser) -> None:
    """Every field of the request, under its own name. Ranges are checked once, with the request."""
    command.add_argument("--toolset", help=_toolset_names(" (default)"))
    command.add_argument("--mode", help="research: business (default) or exploration")
    command.add_argument("--model", help="sonnet (default), opus, or haiku for cheap runs")
    command.add_argument("--effort", help="how hard the model thinks: low, medium or high")
    command.add_argument("--context", metavar="TEXT|FILE", help="background, as text or a file")
    command.add_argument(
        "--update", action="store_true", default=None, help="append to existing research"
    )
    command.add_argument("--continue-from", metavar="ID", help="build on an earlier exploration")
    command.add_argument(
        "--if-exists", metavar="run|reuse", help="reuse: answer with what is there"
    )
    command.add_argument(
        "--collect-tool-stats", action="store_true", default=None, help="stats list every tool call"
    )
    command.add_argument("--max-cost-usd", type=float, metavar="USD", help="the most it may cost")
    command.add_argument("--max-steps", type=int, metavar="N", help="model calls, 1 to 20")
    command.add_argument("--deadline-seconds", type=int, metavar="S", help="60 to 840, default 120")
    command.add_argument("--webhook-url", metavar="URL", help="https address to be told at the end")
    command.add_argument(
        "--callback-secret", metavar="SECRET", help="key of the webhook's signature"
    )
    command.add_argument("--repository", metavar="OWNER/NAME", help="code: the repository")
    command.add_argument("--ref", help="code: branch, tag or commit")
    _add_files(command)


def _toolset_names(mark: str = "") -> str:
    *names, last = (f"{name}{mark if name == DEFAULT_TOOLSET else ''}" for name in TOOLSETS)
    return f"{', '.join(names)} or {last}"


def _add_files(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--file", action="append", metavar="PATH", help="a file for the assistant; may be repeated"
    )


def _tool(commands: "Commands") -> None:
    command = _command(commands, "tool", "tool", "run one tool by hand, without a model")
    command.add_argument("name", nargs="?", help="the tool's name")
    command.add_argument("input", nargs="?", help="its arguments as a JSON object")
    command.add_argument(
        "--stdin", action="store_true", help='read lines of {"name": …, "input": …}'
    )
    command.add_argument("--toolset", default=DEFAULT_TOOLSET, help=_toolset_names())
    command.add_argument("--research", metavar="DIR", help="the folder whose ideas/ is used")
    _add_files(command)


def _tools(commands: "Commands") -> None:
    command = _command(commands, "tools", "tools", "show the tools as the model sees them")
    command.add_argument("--toolset", help="only this toolset")
    command.add_argument("--research", metavar="DIR", help="the folder whose ideas/ is used")
    command.add_argument("--json", action="store_true", help="print the definitions as JSON")


def _music(commands: "Commands") -> None:
    index = _command(commands, "index", "music", "index tracks for music discovery")
    index.set_defaults(music="index")
    library = commands.add_parser("library", help="tell what music is owned")
    imported = library.add_subparsers(title="commands", metavar="COMMAND", required=True)
    owned = _command(imported, "import", "music", "import what the listener owns")
    owned.set_defaults(music="library")
    owned.add_argument("--owner", default="local", help="whose, in a deployment: a token's owner")
    for command in (index, owned):
        command.add_argument("file", help="a file of JSON lines; - for stdin")
        command.add_argument("--research", metavar="DIR", help="the folder whose store is used")


def _replay(commands: "Commands") -> None:
    command = _command(commands, "replay", "replay", "run an exploration again from its transcript")
    command.add_argument("id", help="an exploration's id, or an exported transcript")
    command.add_argument("--export", metavar="FILE", help="also write the transcript to a file")
    command.add_argument("--research", metavar="DIR", help="the folder whose store is used")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")


def _serve(commands: "Commands") -> None:
    command = _command(commands, "serve", "serve", "the API, the console and workers, here")
    command.add_argument(
        "--host", default="127.0.0.1", help="address to listen on, default %(default)s"
    )
    command.add_argument(
        "--port", type=int, default=8765, help="default %(default)s; 0 takes a free one"
    )
    command.add_argument(
        "--workers", type=int, default=2, metavar="N", help="runs at a time, default %(default)s"
    )
    command.add_argument("--research", metavar="DIR", help="the folder whose ideas/ is used")


def _doctor(commands: "Commands") -> None:
    command = _command(
        commands, "doctor", "doctor", "say what is configured, what is missing, and how to fix it"
    )
    command.add_argument("--research", metavar="DIR", help="the folder whose ideas/ is used")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
