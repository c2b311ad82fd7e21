"""Checking a tool's arguments, and saying what is wrong with them in one sentence."""

import json
from typing import Any

from pydantic import JsonValue, ValidationError

from idea_explorer.agent.toolset import Arguments, MayBeBlank, Rule, Tool
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.text import is_blank


def present(model: type[Arguments], given: JsonObject) -> dict[str, JsonValue]:
    """The arguments that are really there: null, and blank text where text is required, are missing."""
    return {
        name: value
        for name, value in given.items()
        if value is not None and not (_needs_text(model, name) and _is_blank_text(value))
    }


def explain(tool: Tool[Any], error: ValidationError) -> str:
    """`{tool} requires '{param}' parameter ({rule}). Example: {…}`, or the better tool instead."""
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


def _is_blank_text(value: JsonValue) -> bool:
    return isinstance(value, str) and is_blank(value)
