"""Flags that several commands take, and those of a request."""

import argparse
from typing import TYPE_CHECKING, TypeAlias

from idea_explorer.domain.toolsets import DEFAULT_TOOLSET, TOOLSETS

if TYPE_CHECKING:
    from idea_explorer.cli.command_parser import CommandParser

    Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"  # noqa: SLF001


def add_command(commands: "Commands", name: str, run: str, text: str) -> "CommandParser":
    """`run` is the command's module and function, loaded when it is called."""
    command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    command.set_defaults(run=run, parser=command)
    command.add_argument("--debug", action="store_true", help="show tracebacks and the log")
    return command


def add_research(
    command: "argparse._ActionsContainer", text: str = "the folder with ideas/, or with your notes"
) -> None:
    command.add_argument("--research", metavar="DIR", help=text)


def add_json(command: "argparse._ActionsContainer") -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead")


def add_output(command: "argparse._ActionsContainer") -> None:
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
        help="the exploration: its id or the end of it, `last`, or -2 for the one before",
    )


def add_request(
    command: argparse.ArgumentParser, *, reads_folder: bool = False
) -> "argparse._ArgumentGroup":
    """Every field of the request, under its own name. Ranges are checked once, with the request. Returns the
    group of options about the result."""
    command.add_argument("idea", nargs="?", help="the idea; read from stdin when left out or '-'")
    what = command.add_argument_group("what to do")
    what.add_argument("--toolset", metavar="NAME", help=toolset_names(" (default)"))
    what.add_argument("--mode", metavar="NAME", help="research: business (default) or exploration")
    what.add_argument(
        "--depth",
        metavar="NAME",
        help="research: quick (default), standard or deep; sets steps, time and length",
    )
    what.add_argument(
        "--review-plan",
        action="store_true",
        default=None,
        help="research: approve the plan before it is followed",
    )
    what.add_argument(
        "--model", metavar="NAME", help="sonnet (default), opus, or haiku for cheap runs"
    )
    what.add_argument(
        "--effort", metavar="NAME", help="how hard the model thinks: low, medium or high"
    )
    background = command.add_argument_group("what to build on")
    if reads_folder:
        add_research(background)
    _add_background(background)
    _add_sources(command.add_argument_group("where to look"))
    limits = command.add_argument_group("limits")
    limits.add_argument(
        "--estimate",
        action="store_true",
        help="print what it would cost and take, and start nothing",
    )
    limits.add_argument("--max-cost-usd", type=float, metavar="USD", help="the most it may cost")
    limits.add_argument("--max-steps", type=int, metavar="N", help="model calls, 1 to 20")
    limits.add_argument(
        "--deadline-seconds", type=int, metavar="S", help="60 to 840, default by depth"
    )
    output = command.add_argument_group("result")
    output.add_argument("--webhook-url", metavar="URL", help="https URL to notify when it ends")
    output.add_argument(
        "--callback-secret", metavar="SECRET", help="key that signs the webhook's messages"
    )
    output.add_argument(
        "--collect-tool-stats", action="store_true", default=None, help="stats list every tool call"
    )
    return output


def _add_background(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--context", metavar="TEXT|FILE", help="background, as text or a file")
    add_files(group)
    group.add_argument("--repository", metavar="OWNER/NAME", help="code: the repository")
    group.add_argument("--ref", help="code: branch, tag or commit")
    group.add_argument(
        "--continue-from",
        metavar="ID",
        help="build on an earlier exploration; `last` is the newest",
    )
    group.add_argument(
        "--update", action="store_true", default=None, help="append to existing research"
    )
    group.add_argument(
        "--if-exists", metavar="run|reuse", help="reuse: answer with existing research if any"
    )


def _add_sources(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--allowed-domains", metavar="DOMAINS", help="search and read only there: example.com,…"
    )
    group.add_argument("--blocked-domains", metavar="DOMAINS", help="search and read nowhere there")
    group.add_argument(
        "--user-location", metavar="PLACE", help="search from there: city=Berlin,country=DE"
    )
    group.add_argument(
        "--allow-fetch-after-private",
        action="store_true",
        default=None,
        help="open pages that other pages name, also after it has read your files or research",
    )


def toolset_names(mark: str = "") -> str:
    *names, last = (f"{name}{mark if name == DEFAULT_TOOLSET else ''}" for name in TOOLSETS)
    return f"{', '.join(names)} or {last}"


def add_files(command: "argparse._ActionsContainer") -> None:
    command.add_argument(
        "--file",
        action="append",
        metavar="PATH",
        help="a file for the assistant (PDF, DOCX, XLSX, PPTX, HTML, CSV, text); may be repeated",
    )
