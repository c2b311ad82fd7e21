"""The commands and their flags. Only argparse is loaded to print help."""

import argparse
from typing import TYPE_CHECKING

from idea_explorer import __version__
from idea_explorer.cli.admin_parser import add_admin
from idea_explorer.cli.command_parser import CommandParser
from idea_explorer.cli.flags import (
    add_command,
    add_files,
    add_id,
    add_json,
    add_output,
    add_profile,
    add_request,
    add_research,
    add_target,
    toolset_names,
)
from idea_explorer.cli.user_parser import add_user_commands
from idea_explorer.domain.toolsets import DEFAULT_TOOLSET

if TYPE_CHECKING:
    from idea_explorer.cli.flags import Commands

HEADINGS = {
    "Explore": ("explore", "submit", "watch", "resume", "cancel"),
    "Read": ("list", "status", "report", "open", "search", "spend"),
    "Decide on changes": ("approve", "reject", "revert"),
    "Music": ("index", "library"),
    "Run a server": ("serve", "admin", "webhook"),
    "Set up": ("doctor", "config", "completion", "help"),
    "Debug": ("tool", "tools", "replay"),
}
EPILOG = """\
Try:
  idea explore "A subscription box for urban beekeepers"
  idea report last

Without ANTHROPIC_API_KEY an offline model runs every step but does no research.
With IDEA_API_URL set, commands on explorations talk to that deployment; without
it, to this machine. `idea doctor` checks what is configured and what is
missing; `idea help exit-codes` and other topics explain what the commands say."""


def build_parser(asked: str | None = None) -> CommandParser:
    """With the flags of all commands, or only of the one that is asked for: the others have just names."""
    parser = CommandParser(
        prog="idea",
        description="Send in an idea and get a researched, cited report.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"idea {__version__}", help="print the version"
    )
    commands = parser.add_commands(asked, HEADINGS)
    _add_explore(commands)
    _add_submit(commands)
    _add_list(commands)
    _add_explorations(commands)
    _add_decisions(commands)
    _add_tools(commands)
    _add_replay(commands)
    _add_music(commands)
    _add_serve(commands)
    add_admin(commands)
    add_user_commands(commands)
    return parser


def _add_explore(commands: "Commands") -> None:
    command = add_command(commands, "explore", "explore.run", "run one exploration on this machine")
    output = add_request(command, reads_folder=True)
    output.add_argument(
        "--commit", action="store_true", help="commit the report to the folder's git"
    )
    output.add_argument("--json", action="store_true", help="print one JSON object instead")
    output.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _add_submit(commands: "Commands") -> None:
    command = add_command(commands, "submit", "explorations.submit", "send an idea to a deployment")
    output = add_request(command)
    output.add_argument("--watch", action="store_true", help="follow it until it ends")
    add_output(output)
    command.add_argument(
        "--idempotency-key",
        metavar="KEY",
        help="submitting again with the same key starts nothing new",
    )
    add_profile(command)


def _add_list(commands: "Commands") -> None:
    command = add_command(
        commands, "list", "explorations.list_all", "list explorations, newest first"
    )
    command.add_argument("--status", help="only those in this status")
    command.add_argument("--mode", help="only those of this mode")
    command.add_argument("--toolset", help="only those of this toolset")
    command.add_argument("--limit", type=int, metavar="N", help="1 to 100, default 20")
    command.add_argument("--cursor", help="continue where an earlier list stopped")
    add_target(command)
    search = add_command(commands, "search", "search.run", "search all research for words")
    search.add_argument("words", nargs="+", help="what to look for")
    search.add_argument("--limit", type=int, default=10, metavar="N", help="1 to 20, default 10")
    add_target(search)
    spend = add_command(commands, "spend", "spend.run", "show what explorations cost")
    spend.add_argument(
        "--days", type=int, default=30, metavar="N", help="1 to 365, default %(default)s"
    )
    add_target(spend)


def _add_explorations(commands: "Commands") -> None:
    """Commands on one exploration."""
    texts = {
        "status": "show the status of an exploration",
        "watch": "follow an exploration live",
        "report": "print the report, or write it to a file",
        "open": "show an exploration in the browser",
        "cancel": "stop an exploration soon and keep what it has so far",
        "resume": "continue an exploration that ended early",
        "revert": "undo what an exploration wrote; on GitHub with a pull request",
        "webhook": "send an exploration's webhook again",
    }
    for name, text in texts.items():
        elsewhere = {"report": "reports.print_report", "open": "reports.open_page"}
        command = add_command(commands, name, elsewhere.get(name, f"explorations.{name}"), text)
        if name == "webhook":
            command.add_argument("action", choices=["resend"])
        add_id(command)
        if name == "report":
            _add_report_options(command)
        if name == "resume":
            command.add_argument(
                "--max-steps", type=int, metavar="N", help="model calls from now on"
            )
            command.add_argument("--max-cost-usd", type=float, metavar="USD", help="for all runs")
            command.add_argument("--deadline-seconds", type=int, metavar="S", help="for this run")
            command.add_argument("--watch", action="store_true", help="follow it until it ends")
        add_target(command)


def _add_report_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--format",
        choices=["md", "html", "json", "m3u", "csv"],
        help="Markdown, a web page, or data; of a playlist, m3u, csv or json",
    )
    command.add_argument(
        "--output",
        metavar="FILE",
        help="write it there; its ending says the format unless --format does",
    )
    command.add_argument("--open", action="store_true", help="show it in the browser as a page")


def _add_decisions(commands: "Commands") -> None:
    for name in ("approve", "reject"):
        command = add_command(
            commands, name, "approvals.run", f"{name} changes that a run proposes"
        )
        command.set_defaults(approves=name == "approve")
        add_id(command)
        command.add_argument("approval", nargs="?", help="which change; all pending by default")
        if name == "approve":
            command.add_argument("--content", metavar="FILE", help="approve this content instead")
            command.add_argument(
                "--hunks", metavar="N,N", help="approve only these hunks, as --list numbers them"
            )
            command.add_argument(
                "--confirm-danger",
                action="store_true",
                help="approve a change to a file that runs by itself; only with its id",
            )
        else:
            command.add_argument("--reason", help="why; the model reads it")
        command.add_argument("--list", action="store_true", help="only show the changes")
        add_target(command)


def _add_tools(commands: "Commands") -> None:
    tool = add_command(commands, "tool", "tools.call", "run one tool by hand, without a model")
    tool.add_argument("name", nargs="?", help="the tool's name")
    tool.add_argument("input", nargs="?", help="its arguments as a JSON object")
    tool.add_argument("--stdin", action="store_true", help='read lines of {"name": …, "input": …}')
    tool.add_argument("--toolset", default=DEFAULT_TOOLSET, help=toolset_names())
    add_research(tool)
    add_files(tool)
    tools = add_command(
        commands, "tools", "tools.list_all", "show the tools as the model sees them"
    )
    tools.add_argument("--toolset", help="only this toolset")
    add_research(tools)
    tools.add_argument("--json", action="store_true", help="print the definitions as JSON")


def _add_replay(commands: "Commands") -> None:
    command = add_command(
        commands, "replay", "replay.run", "run an exploration again from its transcript"
    )
    command.add_argument("id", help="an exploration's id, or an exported transcript")
    command.add_argument("--export", metavar="FILE", help="also write the transcript to a file")
    add_research(command, "the folder that the exploration ran in")
    add_json(command)


def _add_music(commands: "Commands") -> None:
    index = add_command(commands, "index", "music.index", "index tracks for music discovery")
    library = commands.add_parser("library", help="import, list and remove the music you own")
    library_commands = library.add_subparsers(title="commands", metavar="COMMAND", required=True)
    owned = add_command(
        library_commands, "import", "music.import_owned", "import the tracks you own"
    )
    owned.add_argument(
        "--replace", action="store_true", help="remove the tracks that are not in the file"
    )
    listed = add_command(library_commands, "list", "music.list_owned", "list the tracks you own")
    add_json(listed)
    removed = add_command(library_commands, "remove", "music.remove_owned", "remove tracks by ISRC")
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
        add_research(command, "the folder that holds the index")


def _add_serve(commands: "Commands") -> None:
    command = add_command(
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
    add_research(command)
