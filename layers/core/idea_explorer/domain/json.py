"""JSON as types. Content blocks of the Messages API stay native JSON: they go back word for word."""

import hashlib
import json
from typing import TypeAlias

from pydantic import JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]
Block: TypeAlias = JsonObject


def canonical(value: JsonValue) -> str:
    """The one spelling of a JSON value, for comparing and hashing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: JsonValue) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def text_of(value: JsonValue) -> str:
    """The string in a JSON field, or an empty one: models and servers leave fields out."""
    return value if isinstance(value, str) else ""
