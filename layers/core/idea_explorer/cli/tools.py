"""`idea tool` calls one tool by hand; `idea tools` lists the tools as the model sees them."""

import argparse
import json
import sys
from collections.abc import Iterator

from idea_explorer.agent.tool_calls import Caller, ToolExecutor, ToolLimiter, ToolRetrier
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.cli.arguments import read_files, read_settings
from idea_explorer.cli.columns import wrap
from idea_explorer.cli.output import terminal_width
from idea_explorer.cli.streams import until_reader_leaves, warn
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.json import Block, dump_text, text_of
from idea_explorer.domain.tools import ToolCall, ToolResult
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.settings import Settings
from idea_explorer.wiring.local import cli_log, system_clock
from idea_explorer.wiring.toolsets import toolset

INDENT = " " * 6
LINE_RULE = 'Each line must be a JSON object {"name": …, "input": {…}}.'


def call(arguments: argparse.Namespace) -> int:
    """Exit code 1 says that the tool failed. With --stdin 0 says that every call has its line: an unknown
    tool is answered like any other call."""
    if not arguments.stdin and not arguments.name:
        raise InvalidRequestError(
            "Name a tool.",
            hint="See them all with `idea tools`, or try:"
            """ idea tool --toolset assistant calculator '{"expression": "6*7"}'.""",
        )
    given = {} if arguments.stdin else _parse_input(arguments.input)
    settings = read_settings(arguments.research, reads_research=True)
    caller = _build_caller(arguments, settings)
    if not arguments.stdin:
        result = _call(caller, {"name": arguments.name, "input": given})
        with until_reader_leaves():
            _print_result(result)
        if result.payload.get("error_type") == "unknown_tool":
            _explain_unknown(arguments.name, arguments.toolset, settings)
        if result.proposal:
            warn(
                "Nothing is changed, and nobody is asked: only a run, `idea explore`, can propose this."
            )
        return 0 if result.ok else 1
    for line in sys.stdin:
        if line.strip():
            _print_result(_call_line(caller, line))
    return 0


def list_all(arguments: argparse.Namespace) -> int:
    settings = read_settings(arguments.research, reads_research=True)
    names = [arguments.toolset] if arguments.toolset else list(TOOLSETS)
    definitions = {name: toolset(settings, name).definitions for name in names}
    if arguments.json:
        shown = definitions[arguments.toolset] if arguments.toolset else definitions
        print(dump_text(shown, indent=2))
        return 0
    for name in names:
        print(name)
        for definition in definitions[name]:
            print(f"  {definition['name']}")
            for text in _describe(definition):
                # an example can be copied: it stays one line
                width = None if text.startswith("Example: ") else terminal_width()
                print("\n".join(wrap(text, width, INDENT, INDENT)))
    return 0


def _describe(definition: Block) -> Iterator[str]:
    """What the tool does, an example, and every parameter."""
    description = text_of(definition.get("description")) or "runs at Anthropic"
    yield from description.splitlines()
    match definition.get("input_schema"):
        case {"properties": dict(parameters), **schema}:
            required = schema.get("required")
            for name, parameter in parameters.items():
                is_needed = isinstance(required, list) and name in required
                meaning = (
                    text_of(parameter.get("description")) if isinstance(parameter, dict) else ""
                )
                about = f"{name}{'' if is_needed else ' (optional)'}"
                yield f"{about}: {meaning}" if meaning else about


def _build_caller(arguments: argparse.Namespace, settings: Settings) -> Caller:
    log = cli_log(sys.stderr if arguments.debug else None)
    files = read_files(arguments.file, arguments.toolset)
    tools = toolset(settings, arguments.toolset, files=files)
    return ArgumentValidator(
        tools, ToolLimiter(ToolRetrier(ToolExecutor(log), system_clock(), log)), log
    )


def _explain_unknown(name: str, toolset_name: str, settings: Settings) -> None:
    """Names the toolset that has the tool, or the research folder that is missing for it."""
    if name == "run_checks" and toolset_name == "code":
        hint = (
            "This folder's last commit names no checks in .idea-explorer.toml. See docs/checks.md."
        )
    elif name in TOOLSETS[toolset_name].labels:
        folder = settings.research_dir.resolve() / "ideas"
        hint = (
            f"There is no research folder: {folder} does not exist."
            " Name the folder that contains ideas/ with --research or IDEA_RESEARCH_DIR."
        )
    else:
        other = next((spec.name for spec in TOOLSETS.values() if name in spec.labels), None)
        where = f"Add --toolset {other}." if other else "See them all with: idea tools"
        hint = f"The {toolset_name} toolset has no tool {name}. {where}"
    warn(hint)


def _parse_input(text: str | None) -> dict[str, object]:
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(f"The arguments are not JSON: {error}.") from error
    if not isinstance(given, dict):
        raise InvalidRequestError(
            "The arguments must be a JSON object.", hint='Try: \'{"path": "market.md"}\'.'
        )
    return given


def _call_line(caller: Caller, line: str) -> ToolResult:
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


def _print_result(result: ToolResult) -> None:
    # ASCII, so that a lone surrogate in a model's argument cannot break the output; at once, because a
    # program may wait for this answer before it writes its next line
    print(dump_text(result.payload, ensure_ascii=True), flush=True)
