"""Where a tool call is validated: its arguments are checked, and an error is explained in one sentence."""

import json
import threading
from dataclasses import field
from typing import Any

from pydantic import JsonValue, ValidationError

from idea_explorer.agent.tool_calls import Runner
from idea_explorer.agent.toolset import Arguments, MayBeBlank, Rule, ServerTool, Tool, Toolset
from idea_explorer.domain import limits
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.text import is_blank
from idea_explorer.domain.tools import ToolCall, ToolResult
from idea_explorer.ports import Log

MAX_NAME = 64  # no tool's name is longer
HINT = "Provide all required parameters with correct types and non-empty values"


@dataclass(frozen=True)
class ArgumentValidator:
    """Runs only valid calls. An invalid one is answered with the rule it breaks; if the model repeats it
    unchanged, with one line."""

    toolset: Toolset
    inner: Runner
    _log: Log
    _refused: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)  # calls run in parallel

    def call(self, call: ToolCall) -> ToolResult:
        if server_tool := self.toolset.server_tools.get(call.name):
            return self._refuse(call, _explain_server_tool(server_tool, call.input))
        tool = self.toolset.tools.get(call.name)
        if tool is None:
            return ToolResult.failure("unknown_tool", self._explain_unknown(call.name))
        try:
            arguments = tool.arguments.model_validate(_drop_missing(tool.arguments, call.input))
        except ValidationError as error:
            return self._refuse(call, _explain(tool, error))
        except ToolError as error:
            # a rule of the tool's own, such as a path rule, with an error type of its own
            return ToolResult.from_error(error)
        return self.inner.run(tool, arguments)

    def _explain_unknown(self, name: str) -> str:
        from difflib import get_close_matches  # only a mistaken call needs it

        known = [*self.toolset.server_tools, *self.toolset.tools]
        near = get_close_matches(name[:MAX_NAME].lower(), known, 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"Unknown tool: {name}.{meant} The tools are: {', '.join(known)}."

    def _refuse(self, call: ToolCall, message: str) -> ToolResult:
        self._log.error(
            "Tool argument validation failed",
            toolName=call.name,
            args=_outline(call.input),
            validationError=message,
        )
        with self._lock:
            is_repeated = call.key in self._refused
            self._refused.add(call.key)
        if is_repeated:
            return ToolResult.failure(
                "invalid_arguments", f"Same invalid {call.name} call again; it was not executed."
            )
        return ToolResult.failure("invalid_arguments", message, hint=HINT)


def _drop_missing(model: type[Arguments], given: JsonObject) -> dict[str, JsonValue]:
    """Leave out what counts as missing: null, and blank text where text is required."""
    return {
        name: value
        for name, value in given.items()
        if value is not None
        and not (isinstance(value, str) and is_blank(value) and _needs_text(model, name))
    }


def _explain_server_tool(tool: ServerTool, given: JsonObject) -> str:
    value = given.get(tool.parameter)
    if isinstance(value, str) and not is_blank(value):
        return f"{tool.name} runs at Anthropic and cannot be called here."
    example = json.dumps(tool.example, ensure_ascii=False)
    return f"{tool.name} requires '{tool.parameter}' parameter ({tool.rule}). Example: {example}"


def _explain(tool: Tool[Any], error: ValidationError) -> str:
    """`{tool} requires '{param}' parameter ({rule}). Example: {…}`, or the tool's note instead."""
    finding = error.errors(include_url=False, include_context=False, include_input=False)[0]
    name = str(finding["loc"][0]) if finding["loc"] else ""
    example = f"Example: {json.dumps(tool.example, ensure_ascii=False)}"
    if finding["type"] == "extra_forbidden" and len(finding["loc"]) == 1:
        return f"{tool.name} has no '{name[:60]}' parameter. {example}"
    if not name:
        return f"{tool.name} requires an object of parameters. {example}"
    rule = _rule(tool.arguments, name) or finding["msg"]
    if len(finding["loc"]) > 1:
        where = ".".join(str(part) for part in finding["loc"])
        rule = f"{rule}; {where}: {finding['msg'].removeprefix('Value error, ')}"
    return f"{tool.name} requires '{name}' parameter ({rule}). {tool.note or example}"


def _rule(model: type[Arguments], name: str) -> str | None:
    field = model.model_fields.get(name)
    rules = [rule.text for rule in (field.metadata if field else ()) if isinstance(rule, Rule)]
    return rules[0] if rules else None


def _needs_text(model: type[Arguments], name: str) -> bool:
    field = model.model_fields.get(name)
    if field is None or not field.is_required():
        return False
    return not any(isinstance(mark, MayBeBlank) for mark in field.metadata)


def _outline(arguments: JsonObject) -> dict[str, JsonValue]:
    """The arguments for the log: their names, with long values cut."""
    return {
        name[:100]: value if isinstance(value, bool | int | float) or value is None else _cut(value)
        for name, value in list(arguments.items())[:20]
    }


def _cut(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= limits.MAX_LOGGED_VALUE else text[: limits.MAX_LOGGED_VALUE] + "…"
