"""The body and headers of a request to Claude, with its cache breakpoints."""

from collections.abc import Sequence
from typing import Any

from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.ports import ModelRequest

CACHE: Block = {"type": "ephemeral"}
EFFORT_BETA = "mid-conversation-output-config-2026-07-01"  # allows changes of effort


def make_body(request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model_id,
        "max_tokens": request.max_tokens,
        "system": _cached(request.system),
        "messages": _cached_messages(request.messages, request.paused_at),
        "stream": True,
    }
    if request.tools:
        body["tools"] = list(request.tools)
        body["tool_choice"] = {"type": "none" if request.tools_off else "auto"}
    if request.thinking is not None:
        body["thinking"] = request.thinking
    config: dict[str, Any] = {}
    if request.effort is not None:
        config["effort"] = request.effort
    if request.schema is not None:
        config["format"] = {"type": "json_schema", "schema": request.schema}
    return body | {"output_config": config} if config else body


def make_headers(request: ModelRequest) -> dict[str, str]:
    changes_effort = any("output_config" in message for message in request.messages)
    return {"anthropic-beta": EFFORT_BETA} if changes_effort else {}


def _cached(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with a cache breakpoint on the last, up to which the next request reads the cache."""
    return [*blocks[:-1], {**blocks[-1], "cache_control": CACHE}] if blocks else []


def _cached_messages(
    messages: Sequence[JsonObject], paused_at: tuple[int, int] | None
) -> list[JsonObject]:
    """Breakpoints on the end, on our last turns, and where the model paused before.

    The cache is looked up at most 20 blocks back from a breakpoint. Where the request before had its last
    one, the cache is found however many blocks came in between.
    """
    marked = list(messages)
    last = len(messages) - 1
    is_paused = messages[last]["role"] == "assistant"
    user_turns = [index for index, message in enumerate(messages) if message["role"] == "user"]
    for index in {*user_turns[-1 if is_paused else -2 :], *([last] if is_paused else [])}:
        marked[index] = _mark(messages[index])
    if paused_at is not None:
        turn, blocks = paused_at
        marked[turn] = _mark(marked[turn], blocks)
    return marked


def _mark(message: JsonObject, end: int | None = None) -> JsonObject:
    """The message with a breakpoint on the last block before `end`, unless that is thinking, which cannot
    have one."""
    content = message["content"]
    assert isinstance(content, list)
    blocks = [block for block in content if isinstance(block, dict)]
    before = blocks[:end]
    last = before[-1].get("type") if before else "thinking"
    if last in {"thinking", "redacted_thinking"}:
        return message
    return {**message, "content": [*_cached(before), *blocks[len(before) :]]}
