"""JSON as types. Content blocks of the Messages API stay native JSON: they go back word for word."""

import hashlib
import json
import math
from typing import TypeAlias

from pydantic import JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]
Block: TypeAlias = JsonObject

MAX_DEPTH = 64  # no tool takes arguments nested nearly so deep; stores and parsers give up at 250


def dump_canonical(value: JsonValue) -> str:
    """The one spelling of a JSON value, for comparing and hashing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: JsonValue) -> str:
    return hashlib.sha256(dump_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def text_of(value: JsonValue) -> str:
    """The string in a JSON field, or an empty one: models and servers leave fields out."""
    return value if isinstance(value, str) else ""


def sanitize(value: JsonValue, depth: int = MAX_DEPTH) -> JsonValue:
    """The value as every store, log and request can hold it, whatever a model spelled.

    A lone surrogate cannot be encoded and becomes U+FFFD. A number beyond all bounds becomes null, as
    in JavaScript, and so does what is nested too deep.
    """
    if depth < 0:
        return None
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [sanitize(item, depth - 1) for item in value]
        case dict():
            return {
                text_of(sanitize(name)): sanitize(item, depth - 1) for name, item in value.items()
            }
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def sanitize_block(block: Block) -> Block:
    """A block of a model's answer. Arguments that are no object become an empty one, because a block
    goes back as it is stored, and the API takes nothing else."""
    stored = {text_of(sanitize(name)): sanitize(value) for name, value in block.items()}
    if stored.get("type") in {"tool_use", "server_tool_use"}:
        given = stored.get("input")
        stored["input"] = given if isinstance(given, dict) else {}
    return stored
