"""Messages in the form of OpenTelemetry's GenAI conventions: a role, and parts of text or tool calls."""

import json
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from idea_explorer.domain.json import Block, JsonObject, text_of

# by the stop reason of Anthropic
FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "tool_use": "tool_call",
}


def dump_text(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [_text(text)]}])


def dump_input(messages: Sequence[JsonObject]) -> str:
    return json.dumps([part for message in messages for part in _split(message)])


def dump_instructions(system: Sequence[Block]) -> str:
    return json.dumps([_part(block) for block in system])


def dump_output(content: Sequence[Block], stop_reason: str) -> str:
    message = {
        "role": "assistant",
        "parts": [_part(block) for block in content],
        "finish_reason": FINISH_REASONS.get(stop_reason, stop_reason),
    }
    return json.dumps([message])


def _split(message: JsonObject) -> Iterator[JsonObject]:
    """Anthropic sends tool results as messages of the user; the conventions know the role of a tool."""
    role, content = text_of(message.get("role")), message.get("content")
    if not isinstance(content, list):
        yield {"role": role, "parts": [_text(text_of(content))]}
        return
    blocks = [block for block in content if isinstance(block, dict)]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    others = [block for block in blocks if block.get("type") != "tool_result"]
    for name, group in (("tool", results), (role, others)):
        if group:
            yield {"role": name, "parts": [_part(block) for block in group]}


def _part(block: Block) -> JsonValue:
    match block:
        case {"type": "text", "text": str(text)}:
            return _text(text)
        case {"type": "thinking", "thinking": str(text)}:
            return {"type": "reasoning", "content": text}
        case {"type": "tool_use" | "server_tool_use", "id": call_id, "name": name, **rest}:
            return {
                "type": "tool_call",
                "id": call_id,
                "name": name,
                "arguments": rest.get("input"),
            }
        case {"tool_use_id": call_id, **rest}:
            return {
                "type": "tool_call_response",
                "id": call_id,
                "response": rest.get("content"),
            }
        case {"type": kind}:
            # what else a model sends or gets, such as documents, is named and not repeated
            return {"type": kind}
    return {"type": "unknown"}


def _text(text: str) -> JsonObject:
    return {"type": "text", "content": text}
