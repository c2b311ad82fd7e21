"""How the fake reads what a client sends: JSON as it came, compared without what may change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

# The wire is JSON of an open schema: the validation rules, not the types, say what may be in it.
JsonObject = dict[str, Any]
Block = JsonObject


def content_blocks(message: JsonObject) -> list[Block]:
    """The blocks of a message; a string is shorthand for one text block."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def system_blocks(request: JsonObject) -> list[Block]:
    system = request.get("system") or []
    return [{"type": "text", "text": system}] if isinstance(system, str) else list(system)


def canonical(value: object) -> str:
    """One spelling for values that mean the same: no cache marks, no nulls, keys in order."""
    return json.dumps(_without_marks(value), sort_keys=True, ensure_ascii=False)


def _without_marks(value: object) -> object:
    if isinstance(value, dict):
        return {
            key: _without_marks(item)
            for key, item in value.items()
            if key != "cache_control" and item is not None
        }
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    return value


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def conversation_of(request: JsonObject) -> str:
    """A conversation is known by its first message: everything after it may grow."""
    return digest(canonical(content_blocks(request["messages"][0])))[:8]


def flat_blocks(request: JsonObject) -> list[tuple[str, Block]]:
    """All blocks in order with their role: message bounds do not matter to the model."""
    return [(message["role"], b) for message in request["messages"] for b in pieces(message)]


def pieces(message: JsonObject) -> list[Block]:
    """The blocks of a message; a change of effort is one of its own."""
    change = message.get("output_config")
    return [*content_blocks(message), *([{"type": "effort", **change}] if change else [])]


def assistant_blocks(request: JsonObject) -> Iterator[Block]:
    return (block for role, block in flat_blocks(request) if role == "assistant")


def unfinished_searches(blocks: list[Block]) -> list[str]:
    """Ids of server tool calls among the blocks that have no result there yet."""
    answered = {block.get("tool_use_id") for block in blocks}
    return [
        block["id"]
        for block in blocks
        if block["type"] == "server_tool_use" and block["id"] not in answered
    ]


def tools_are_off(request: JsonObject) -> bool:
    """Whether the model may not call tools: what a behaviour-driven model must respect."""
    choice = request.get("tool_choice") or {}
    return not request.get("tools") or choice.get("type") == "none"
