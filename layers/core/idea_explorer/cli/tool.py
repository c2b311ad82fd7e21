"""`idea tool`: one result line per call."""

import argparse
import json
import sys

from idea_explorer.agent.wrappers import Bounded, Caller, Executed, Retried, Validated
from idea_explorer.cli.environment import settings_for
from idea_explorer.cli.files import named_files
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.tools import ToolCall, ToolResult
from idea_explorer.wiring import cli_log, system_clock, toolset

LINE_RULE = 'Each line must be a JSON object {"name": …, "input": {…}}.'


def run(arguments: argparse.Namespace) -> int:
    if not arguments.stdin and not arguments.name:
        raise InvalidRequestError(
            "Name a tool.", hint='Try: idea tool read_research \'{"path": "market.md"}\'.'
        )
    caller = _caller(arguments)
    if not arguments.stdin:
        _print(_call(caller, {"name": arguments.name, "input": _input(arguments.input)}))
        return 0
    for line in sys.stdin:
        if line.strip():
            _print(_answer(caller, line))
    return 0


def _caller(arguments: argparse.Namespace) -> Caller:
    log = cli_log(sys.stderr if arguments.debug else None)
    files = named_files(arguments.file, arguments.toolset)
    tools = toolset(settings_for(arguments.research), arguments.toolset, files=files)
    return Validated(tools, Bounded(Retried(Executed(log), system_clock(), log)), log)


def _input(text: str | None) -> object:
    try:
        return json.loads(text or "{}")
    except ValueError as error:
        raise InvalidRequestError(f"The arguments are not JSON: {error}.") from error


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
