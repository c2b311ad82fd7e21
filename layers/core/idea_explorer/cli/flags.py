"""Flags that several commands take, and those of a request."""

import argparse
from typing import TYPE_CHECKING, TypeAlias

from idea_explorer.domain.toolsets import DEFAULT_TOOLSET, TOOLSETS

if TYPE_CHECKING:
    from idea_explorer.cli.command_parser import CommandParser

    Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"  # noqa: SLF001


def add_command(commands: "Commands", name: str, run: str, text: str) -> "CommandParser":
    """`run` is the command's module and function, loaded when it is called."""
    command = commands.add_parser(name, help=text, description=text)
    command.set_defaults(run=run, parser=command)
    command.add_argument("--debug", action="store_true", help="show tracebacks and the log")
    return command


def add_research(
    command: argparse.ArgumentParser, text: str = "the folder with ideas/, or with your notes"
) -> None:
    command.add_argument("--research", metavar="DIR", help=text)


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead")


def add_output(command: argparse.ArgumentParser) -> None:
    add_json(command)
    command.add_argument("--quiet", action="store_true", help="print only what a script needs")


def add_target(command: argparse.ArgumentParser) -> None:
    """Where the explorations are that the command is about."""
    add_research(command, "on this machine: the folder that the exploration ran in")
    add_api(command)
    add_output(command)


def add_api(command: argparse.ArgumentParser) -> None:
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "--local", action="store_true", help="on this machine, even if IDEA_API_URL is set"
    )
    add_profile(where)


def add_profile(command: "argparse._ActionsContainer") -> None:
    command.add_argument(
        "--profile", metavar="NAME", help="at the deployment of this profile (idea config)"
    )


def add_id(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "id",
        help="the exploration: its id or the beginning of it, `last`, or -2 for the one before",
    )


def add_request(command: argparse.ArgumentParser) -> None:
    """Every field of the request, under its own name. Ranges are checked once, with the request."""
    command.add_argument(
        "--estimate",
        action="store_true",
        help="print what it would cost and take, and start nothing",
    )
    command.add_argument("idea", nargs="?", help="the idea; read from stdin when left out or '-'")
    command.add_argument("--toolset", help=toolset_names(" (default)"))
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
    command.add_argument(
        "--continue-from",
        metavar="ID",
        help="build on an earlier exploration; `last` is the newest",
    )
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
    add_files(command)
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


def toolset_names(mark: str = "") -> str:
    *names, last = (f"{name}{mark if name == DEFAULT_TOOLSET else ''}" for name in TOOLSETS)
    return f"{', '.join(names)} or {last}"


def add_files(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--file",
        action="append",
        metavar="PATH",
        help="a file for the assistant (PDF, DOCX, XLSX, PPTX, HTML, CSV, text); may be repeated",
    )
