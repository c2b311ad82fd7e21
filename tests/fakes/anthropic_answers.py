"""From a scripted turn to the message that answers one request: ids and usage filled in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.fakes.anthropic_counting import (
    PromptCache,
    clip,
    count_input,
    pages_in,
    read_by_server_tools,
    searches_in,
    tokens_of,
)
from tests.fakes.anthropic_sse import whole_message
from tests.fakes.anthropic_thinking import as_returned
from tests.fakes.anthropic_turns import SECONDS, SERVER_RESULTS, TOKENS, Turn, Usage
from tests.fakes.anthropic_web import with_fetch_rules
from tests.fakes.anthropic_wire import (
    Block,
    JsonObject,
    assistant_blocks,
    conversation_of,
    unfinished_searches,
)

ID_PREFIX = {"tool_use": "toolu", "server_tool_use": "srvtoolu"}


@dataclass(frozen=True)
class Answer:
    """What goes back to the client, and how."""

    turn: Turn
    message: JsonObject
    usage: Usage
    streamed: bool
    silences: dict[int, float]  # by block, how long nothing but pings comes before it


def with_ids(request: JsonObject, blocks: tuple[Block, ...]) -> list[Block]:
    """The blocks with their ids, the same for the same point of the same conversation."""
    point = f"{conversation_of(request)}_{len(request['messages'])}"
    owed = unfinished_searches(list(assistant_blocks(request)))
    given: list[Block] = []
    for position, block in enumerate(blocks):
        resolved = dict(block)
        prefix = ID_PREFIX.get(block["type"])
        if prefix is not None:
            resolved.setdefault("id", f"{prefix}_{point}_{position}")
        if block["type"] == "server_tool_use":
            owed.append(resolved["id"])
        if block["type"] in SERVER_RESULTS:
            resolved.setdefault("tool_use_id", owed.pop(0) if owed else "srvtoolu_none")
        given.append(resolved)
    return given


def usage_for(
    request: JsonObject, turn: Turn, blocks: list[Block], cache: PromptCache | None
) -> Usage:
    """The scripted usage, or else what request and answer come to."""
    asked = Usage(input_tokens=count_input(request)) if cache is None else cache.usage_of(request)
    if turn.usage is not None:
        return turn.usage
    said = sum(tokens_of(block) for block in blocks if block["type"] not in SERVER_RESULTS) or 1
    return asked + Usage(
        input_tokens=read_by_server_tools(blocks) if cache is not None else 0,
        output_tokens=said,
        web_search_requests=searches_in(blocks),
        web_fetch_requests=pages_in(blocks),
    )


def assemble(
    request: JsonObject, turn: Turn, number: int, cache: PromptCache | None, *, force_json: bool
) -> Answer:
    """The answer to a request. With a cache, max_tokens is kept as the API keeps it."""
    blocks = with_fetch_rules(request, with_ids(request, turn.blocks))
    if cache is not None and turn.usage is None:
        kept = list(clip(blocks, request["max_tokens"]))
        if kept != blocks:
            turn = replace(turn, stop_reason="max_tokens")
        blocks = kept
    usage = usage_for(request, turn, blocks, cache)
    silences = {n: block[SECONDS] for n, block in enumerate(blocks) if SECONDS in block}
    blocks = as_returned(request, [_without_notes(block) for block in blocks])
    message = whole_message(f"msg_{number:06d}", request["model"], turn, blocks, usage)
    return Answer(turn, message, usage, bool(request.get("stream")) and not force_json, silences)


def _without_notes(block: Block) -> Block:
    return {name: value for name, value in block.items() if name not in (TOKENS, SECONDS)}
