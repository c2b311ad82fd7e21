"""JSON as types. Content blocks of the Messages API stay native JSON: they go back word for word."""

import hashlib
import json
import re
from typing import TypeAlias

from pydantic import JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]
Block: TypeAlias = JsonObject
_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical(value: JsonValue) -> str:
    """The one spelling of a JSON value, for comparing and hashing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: JsonValue) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def storable(value: JsonValue) -> JsonValue:
    """The value with lone surrogates replaced: JSON can spell them, but UTF-8 cannot hold them."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode() if _SURROGATE.search(value) else value
        case list():
            return [storable(item) for item in value]
        case dict():
            return {str(storable(name)): storable(item) for name, item in value.items()}
        case _:
            return value


def text_of(value: JsonValue) -> str:
    """The string in a JSON field, or an empty one: models and servers leave fields out."""
    return value if isinstance(value, str) else ""
