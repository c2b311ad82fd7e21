"""JSON as types. Content blocks of the Messages API stay plain JSON, so that they go back unchanged."""

import json
import math
from typing import Any, TypeAlias

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from idea_explorer.domain.text import hash_text

JsonObject: TypeAlias = dict[str, JsonValue]
Block: TypeAlias = JsonObject

MIN_PLAIN = 1e-4  # Python writes smaller numbers with an exponent, such as 1e-05
MAX_DEPTH = 64  # far deeper than any tool's arguments; stores and parsers give up at 250


def dump_canonical(value: JsonValue) -> str:
    """Equal values have equal text, for comparing and hashing; the same that `json.dumps` would give, except
    that a number which JSON has no word for is null, as it is once stored. That takes ten times as long for a
    text that is not ASCII, so it is left what pydantic spells otherwise: small numbers, and what UTF-8 cannot
    encode."""
    try:
        return dump_json(_sort_keys(value)).decode()
    except ValueError:
        finite = _without_infinities(value)
        return json.dumps(finite, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _sort_keys(value: JsonValue) -> JsonValue:
    """Raises ValueError for a number that is spelled with a negative exponent."""
    match value:
        case dict():
            return {name: _sort_keys(value[name]) for name in sorted(value)}
        case list():
            return [_sort_keys(item) for item in value]
        case float() if 0 < abs(value) < MIN_PLAIN:
            raise ValueError(value)
        case _:
            return value


def dump_json(value: JsonValue) -> bytes:
    """Compact JSON with the fields in their order. A number that JSON has no word for becomes null, as in
    JavaScript. Raises ValueError for a lone surrogate."""
    return to_json(value, inf_nan_mode="null")


def dump_text(
    value: object,
    *,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    ensure_ascii: bool = False,
) -> str:
    """JSON for people and programs that read it. A number that JSON has no word for becomes null."""
    style: dict[str, Any] = {
        "indent": indent,
        "separators": separators,
        "ensure_ascii": ensure_ascii,
    }
    try:
        return json.dumps(value, allow_nan=False, **style)
    except ValueError:
        return json.dumps(_without_infinities(value), allow_nan=False, **style)


def _without_infinities(value: object) -> object:
    match value:
        case dict():
            return {name: _without_infinities(item) for name, item in value.items()}
        case list() | tuple():
            return [_without_infinities(item) for item in value]
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def parse_json(data: bytes) -> Any:
    """What `json.loads` gives, which takes longer but knows lone surrogates."""
    try:
        return from_json(data)
    except ValueError:
        return json.loads(data.decode())


def json_size(value: JsonValue) -> int:
    """The bytes of a value as JSON."""
    try:
        return len(dump_json(value))
    except ValueError:
        return len(dump_canonical(value).encode("utf-8", "surrogatepass"))


def digest(value: JsonValue) -> str:
    return hash_text(dump_canonical(value))


def text_of(value: JsonValue) -> str:
    """The string in a JSON field, or "" if it is missing or not a string."""
    return value if isinstance(value, str) else ""


def citations_of(block: Block) -> list[JsonObject]:
    """The citations of a text block."""
    citations = block.get("citations")
    return [c for c in citations if isinstance(c, dict)] if isinstance(citations, list) else []


def document_block(title: str, text: str, *, cited: bool = False) -> Block:
    """A text that others wrote, as the API marks it off: nothing in it can look like a part of our message.
    The API refuses an empty one. Either all documents of a request are `cited`, or none, and those that
    web_fetch opens are."""
    source: JsonObject = {"type": "text", "media_type": "text/plain", "data": text}
    block: Block = {"type": "document", "source": source, "title": title}
    return block | {"citations": {"enabled": True}} if cited else block


def document_text(block: Block) -> str:
    """The text of a document block; "" for any other block."""
    source = block.get("source")
    if block.get("type") != "document" or not isinstance(source, dict):
        return ""
    return text_of(source.get("data"))


def sanitize(value: JsonValue, depth: int = MAX_DEPTH) -> JsonValue:
    """Make a value from a model safe for every store, log and request. Lone surrogates cannot be encoded
    and become U+FFFD. Infinite numbers become null, as in JavaScript, and so does anything nested too
    deep."""
    if depth < 0:
        return None
    match value:
        case str():
            return _replace_surrogates(value)
        case list():
            return [sanitize(item, depth - 1) for item in value]
        case dict():
            return {
                _replace_surrogates(name): sanitize(item, depth - 1) for name, item in value.items()
            }
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def _replace_surrogates(text: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def sanitize_block(block: Block) -> Block:
    """Make a block of an answer safe to store and send back. Arguments that are not an object become an
    empty one, because the API accepts nothing else."""
    stored = {_replace_surrogates(name): sanitize(value) for name, value in block.items()}
    if stored.get("type") in {"tool_use", "server_tool_use"}:
        given = stored.get("input")
        stored["input"] = given if isinstance(given, dict) else {}
    return stored
