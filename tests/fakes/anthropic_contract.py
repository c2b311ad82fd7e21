"""The SDK's own types as a contract: what they do not know, the fake does not take.

The parameter types of `messages.create` are made into one validator that is as strict as the API: no
extra fields, no coercion, unions told apart by their `type` or `role`. With the beta header for changes
of effort, the types of the beta call hold.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from tests.fakes.anthropic_wire import JsonObject

TAGS = ("type", "role")
ROLES = ("user", "assistant", "system")
OBJECTS = frozenset({"model", "function-wrap", "function-after"})
SAID = {
    "extra_forbidden": "Extra inputs are not permitted",
    "missing": "Field required",
}


def complaint_of_types(request: JsonObject, *, beta: bool) -> str | None:
    """The first thing in a request that the SDK's types do not allow, worded as the API words it."""
    try:
        _validator(beta=beta).validate_python(request, strict=True)
    except ValidationError as error:
        first = _nearest(error)
        # the API does not name which of the call's shapes or whose message it means
        unnamed = {"MessageCreateParamsStreaming", "MessageCreateParamsNonStreaming", *ROLES}
        place = ".".join(str(part) for part in first["loc"] if part not in unnamed)
        return f"{place}: {SAID.get(first['type'], first['msg'])}"
    return None


def _nearest(error: ValidationError) -> Any:
    """The complaint about the member of a union that was meant: the one with the fewest of them, and
    of those the one that went deepest."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    members = Counter(item["loc"][:-1] for item in found)
    return min(found, key=lambda item: (members[item["loc"][:-1]], -len(item["loc"])))


@cache
def _validator(*, beta: bool) -> SchemaValidator:
    schema = TypeAdapter(_parameters(beta=beta)).core_schema
    references = _references(schema)
    return SchemaValidator(_strict(schema, references))


def _parameters(*, beta: bool) -> Any:
    if beta:
        from anthropic.types.beta import message_create_params as beta_params

        return (
            beta_params.MessageCreateParamsStreaming | beta_params.MessageCreateParamsNonStreaming
        )
    from anthropic.types import message_create_params as params

    return params.MessageCreateParamsStreaming | params.MessageCreateParamsNonStreaming


def _references(node: Any) -> dict[str, Any]:
    """Every schema that can be referred to."""
    found: dict[str, Any] = {}
    if isinstance(node, dict):
        if isinstance(node.get("ref"), str):
            found[node["ref"]] = node
        for value in node.values():
            found |= _references(value)
    elif isinstance(node, list | tuple):
        for value in node:
            found |= _references(value)
    return found


def _strict(node: Any, references: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_strict(value, references) for value in node]
    if isinstance(node, tuple):
        return tuple(_strict(value, references) for value in node)
    if not isinstance(node, dict):
        return node
    match node.get("type"):
        case "generator":  # an iterable of the SDK is a list on the wire
            return {"type": "list", "items_schema": _strict(node["items_schema"], references)}
        case "model":
            return node
        case "union":
            return _told_apart(node, references)
        case "typed-dict" if "extras_schema" not in node:
            node = {**node, "extra_behavior": "forbid"}
        case _:
            pass
    return {
        key: value if key == "ref" else _strict(value, references) for key, value in node.items()
    }


def _told_apart(node: dict[str, Any], references: dict[str, Any]) -> dict[str, Any]:
    """A union by its tag, so that a complaint is about the member that was meant."""
    sent = _members(node, references)
    for tag in TAGS:
        tagged = {value: m for m in sent for value in _values_of(tag, m, references)}
        if len(sent) > 1 and all(_values_of(tag, m, references) for m in sent):
            choices = {value: _strict(m, references) for value, m in tagged.items()}
            return {"type": "tagged-union", "discriminator": tag, "choices": choices}
    return {**node, "choices": [_strict(m, references) for m in sent]}


def _members(node: dict[str, Any], references: dict[str, Any]) -> list[dict[str, Any]]:
    """What a union may be on the wire, unions within it included. The SDK also takes its own response
    objects; on the wire there are only dictionaries."""
    found: list[dict[str, Any]] = []
    for choice in node["choices"]:
        member = choice[0] if isinstance(choice, tuple) else choice
        resolved = _resolved(member, references)
        if resolved.get("type") == "union":
            found += _members(resolved, references)
        elif resolved.get("type") not in OBJECTS:
            found.append(member)
    return found


def _resolved(node: dict[str, Any], references: dict[str, Any]) -> dict[str, Any]:
    if node.get("type") == "definition-ref":
        return _resolved(references[node["schema_ref"]], references)
    return node


def _values_of(tag: str, node: dict[str, Any], references: dict[str, Any]) -> list[str]:
    """The values that a member's tag may have; none where it has no such tag."""
    resolved = _resolved(node, references)
    field = (
        (resolved.get("fields") or {}).get(tag) if resolved.get("type") == "typed-dict" else None
    )
    schema = (field or {}).get("schema") or {}
    return list(schema["expected"]) if schema.get("type") == "literal" else []
