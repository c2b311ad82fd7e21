"""`idea tool`: one result line per call."""

import argparse
import json
import sys

from idea_explorer.agent.tool_calls import Bounded, Caller, Executed, Retried
from idea_explorer.agent.toolset import Toolset
from idea_explorer.agent.validation import Validated
from idea_explorer.cli.environment import settings_for
from idea_explorer.cli.files import named_files
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.tools import ToolCall, ToolResult
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.settings import Settings
from idea_explorer.wiring.local import cli_log, system_clock
from idea_explorer.wiring.toolsets import toolset

LINE_RULE = 'Each line must be a JSON object {"name": …, "input": {…}}.'


def run(arguments: argparse.Namespace) -> int:
    if not arguments.stdin and not arguments.name:
        raise InvalidRequestError(
            "Name a tool.", hint='Try: idea tool read_research \'{"path": "market.md"}\'.'
        )
    if not arguments.stdin:
        given = _input(arguments.input)
        _print(_call(_caller(arguments), {"name": arguments.name, "input": given}))
        return 0
    caller = _caller(arguments)
    for line in sys.stdin:
        if line.strip():
            _print(_answer(caller, line))
    return 0


def _caller(arguments: argparse.Namespace) -> Caller:
    log = cli_log(sys.stderr if arguments.debug else None)
    files = named_files(arguments.file, arguments.toolset)
    settings = settings_for(arguments.research)
    tools = toolset(settings, arguments.toolset, files=files)
    if _is_left_out(arguments.name, arguments.toolset, tools):
        _tell_of_no_research(settings)
    return Validated(tools, Bounded(Retried(Executed(log), system_clock(), log)), log)


def _is_left_out(name: str | None, toolset_name: str, tools: Toolset) -> bool:
    """Whether the toolset has this tool only where there is research to read."""
    return name in TOOLSETS[toolset_name].labels and name not in {*tools.tools, *tools.server_tools}


def _tell_of_no_research(settings: Settings) -> None:
    folder = settings.research_dir.resolve() / "ideas"
    print(
        f"idea: There is no research folder: {folder} does not exist."
        " Name the folder that holds ideas/ with --research or IDEA_RESEARCH_DIR.",
        file=sys.stderr,
    )


def _input(text: str | None) -> dict[str, object]:
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(f"The arguments are not JSON: {error}.") from error
    if not isinstance(given, dict):
        raise InvalidRequestError(
            "The arguments must be a JSON object.", hint='Try: \'{"path": "market.md"}\'.'
        )
    return given


def _answer(caller: Caller, line: str) -> ToolResult:
    try:
        return _call(caller, json.loads(line))
    except (ValueError, RecursionError):
        return ToolResult.failure("invalid_arguments", LINE_RULE)


def _call(caller: Caller, call: object) -> ToolResult:
    match call:
        case {"name": str(name), "input": dict(given), **rest} if not rest:
            return caller.call(ToolCall(id="cli", name=name, input=given))
        case {"name": str(name), **rest} if not rest:
            return caller.call(ToolCall(id="cli", name=name, input={}))
        case _:
            return ToolResult.failure("invalid_arguments", LINE_RULE)


def _print(result: ToolResult) -> None:
    # ASCII, so that a lone surrogate in a model's argument cannot break the output
    print(json.dumps(result.payload, ensure_ascii=True))
