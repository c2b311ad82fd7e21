"""A message as the API sends it: whole, or as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.fakes.anthropic_counting import share
from tests.fakes.anthropic_turns import Turn, Usage
from tests.fakes.anthropic_wire import Block, JsonObject

PIECE_CHARACTERS = 24
MAX_PIECES = 100  # long answers come in larger pieces, so that tests stay fast


@dataclass(frozen=True)
class Event:
    name: str
    data: JsonObject
    weight: int = 0  # characters of the model's output that it carries
    silence: float = 0.0  # seconds in which the model thinks before it comes

    def encode(self) -> bytes:
        return f"event: {self.name}\ndata: {json.dumps(self.data)}\n\n".encode()


def wire_usage(usage: Usage) -> JsonObject:
    counts = {
        "web_search_requests": usage.web_search_requests,
        "web_fetch_requests": usage.web_fetch_requests,
    }
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
        "server_tool_use": counts if any(counts.values()) else None,
    }


def whole_message(
    message_id: str, model: str, turn: Turn, blocks: list[Block], usage: Usage
) -> JsonObject:
    return {
        "model": model,
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "content": blocks,
        "stop_reason": turn.stop_reason,
        "stop_details": turn.stop_details,
        "stop_sequence": turn.stop_sequence,
        "usage": {
            **wire_usage(usage),
            "cache_creation": {
                "ephemeral_5m_input_tokens": usage.cache_creation_input_tokens,
                "ephemeral_1h_input_tokens": 0,
            },
            "service_tier": "standard",
        },
    }


PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def stream_events(message: JsonObject, silences: Mapping[int, float] | None = None) -> list[Event]:
    """The events of a message. In a silence the block has begun, and nothing of it comes."""
    events = list(_events(message))
    for index, seconds in (silences or {}).items():
        begun = next(
            number
            for number, event in enumerate(events)
            if event.name == "content_block_start" and event.data["index"] == index
        )
        events[begun + 1] = replace(events[begun + 1], silence=seconds)
    return events


def _events(message: JsonObject) -> Iterator[Event]:
    usage = message["usage"]
    unsaid: JsonObject = {
        "content": [],
        "stop_reason": None,
        "stop_details": None,
        "stop_sequence": None,
    }
    begun = {**usage, "output_tokens": min(1, usage["output_tokens"]), "server_tool_use": None}
    yield _event("message_start", message={**message, **unsaid, "usage": begun})
    for index, block in enumerate(message["content"]):
        first, deltas = _STREAMED.get(block["type"], _in_one_piece)(block)
        weight = 0 if deltas else len(json.dumps(block))
        yield _event("content_block_start", weight, index=index, content_block=first)
        if index == 0:
            yield _event("ping")
        for delta in deltas:
            weight = sum(len(value) for value in delta.values() if isinstance(value, str))
            yield _event("content_block_delta", weight, index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ended = {key: message[key] for key in ("stop_reason", "stop_details", "stop_sequence")}
    final = {k: v for k, v in usage.items() if k not in ("cache_creation", "service_tier")}
    yield _event("message_delta", delta=ended, usage=final)
    yield _event("message_stop")


def _event(name: str, weight: int = 0, /, **fields: Any) -> Event:
    return Event(name, {"type": name, **fields}, weight)


def _pieces(whole: str) -> list[str]:
    size = max(PIECE_CHARACTERS, -(-len(whole) // MAX_PIECES))
    return [whole[start : start + size] for start in range(0, len(whole), size)]


Streamed = tuple[Block, list[JsonObject]]


def _text(block: Block) -> Streamed:
    citations = block.get("citations")
    first = {**block, "text": ""} | ({"citations": []} if citations else {})
    cited = [{"type": "citations_delta", "citation": citation} for citation in citations or ()]
    said = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
    return first, [*cited, *said]


def _thinking(block: Block) -> Streamed:
    thought = [{"type": "thinking_delta", "thinking": p} for p in _pieces(block["thinking"])]
    signed = {"type": "signature_delta", "signature": block["signature"]}
    return {**block, "thinking": "", "signature": ""}, [*thought, signed]


def _call(block: Block) -> Streamed:
    written = json.dumps(block["input"]) if block["input"] else ""
    pieces = ["", *_pieces(written)]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return {**block, "input": {}}, deltas


def _in_one_piece(block: Block) -> Streamed:
    return block, []


_STREAMED: dict[str, Callable[[Block], Streamed]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_use": _call,
    "server_tool_use": _call,
}


def usage_sent(message_usage: Usage, events: list[Event], sent: int) -> Usage:
    """What is owed for the first events of a stream: the input, and the output sent so far."""
    if not sent:
        return Usage()
    whole = sum(event.weight for event in events)
    part = sum(event.weight for event in events[:sent])
    searches = sum(_is_search_result(event) for event in events[:sent])
    return Usage(
        message_usage.input_tokens,
        share(message_usage.output_tokens, part, whole),
        message_usage.cache_creation_input_tokens,
        message_usage.cache_read_input_tokens,
        message_usage.web_search_requests
        if sent == len(events)
        else min(searches, message_usage.web_search_requests),
    )


def _is_search_result(event: Event) -> bool:
    block = event.data.get("content_block") or {}
    return block.get("type") == "web_search_tool_result" and isinstance(block["content"], list)
