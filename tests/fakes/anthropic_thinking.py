"""Thinking as the current models return it: signed for one model and one conversation, and mostly empty.

A signature holds for everything before its block: system, tools, and every block up to it. It proves
itself, so that a server that was started anew knows it too. Cache marks do not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.fakes.anthropic_turns import SIGNATURE_PREFIX
from tests.fakes.anthropic_wire import Block, JsonObject, canonical, digest, pieces

CALLS = frozenset({"tool_use", "server_tool_use"})
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
FOREIGN = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the "
    'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting '
    "requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
UNSIGNED = "Invalid `signature` in `thinking` block"


def as_returned(request: JsonObject, blocks: list[Block]) -> list[Block]:
    """The blocks of an answer as a request gets them: what is said before a call is thinking, thinking
    has no text unless it is asked for, and each thought is signed for where it stands."""
    if request.get("thinking") is None:
        return [_shown(block, request) for block in blocks]
    prefix = _prefix(request)
    returned: list[Block] = []
    for position, block in enumerate(blocks):
        before_a_call = any(later["type"] in CALLS for later in blocks[position + 1 :])
        if block["type"] == "text" and before_a_call and block["text"].strip():
            block = {"type": "thinking", "thinking": block["text"], "signature": ""}
        if block["type"] == "thinking":
            block = _signed(block, request, prefix)
        returned.append(block)
        prefix = digest(prefix + _piece("assistant", block))
    return returned


def thoughts_are_as_they_came(request: JsonObject) -> Iterator[str]:
    """Whether every thought is what this model thought at this place of this conversation."""
    prefix = digest(_setup(request))
    for index, message in enumerate(request["messages"]):
        for position, block in enumerate(pieces(message)):
            signature = str(block.get("signature") or "")
            if block.get("type") == "thinking" and signature.count("-") == BOUND:
                path = f"messages.{index}.content.{position}"
                yield from _wrong_thought(path, block, signature, prefix)
            prefix = digest(prefix + _piece(message["role"], block))


BOUND = 3  # dashes of a signature that is bound to a place: signed-THOUGHT-TEXT-PLACE


def _wrong_thought(path: str, block: Block, signature: str, prefix: str) -> Iterator[str]:
    marked, thought, text, place = signature.split("-")
    if f"{marked}-" != SIGNATURE_PREFIX:
        yield f"{path}: {UNSIGNED}"
    if text != digest(block["thinking"])[:16]:
        yield f"{path}: {MODIFIED}"
    if place != digest(prefix + thought)[:16]:
        yield f"{path}: {FOREIGN}"


def _signed(block: Block, request: JsonObject, prefix: str) -> Block:
    shown = _shown(block, request)
    thought = digest(block["thinking"])[:16]
    text, place = digest(shown["thinking"])[:16], digest(prefix + thought)[:16]
    return {**shown, "signature": f"{SIGNATURE_PREFIX}{thought}-{text}-{place}"}


def _shown(block: Block, request: JsonObject) -> Block:
    if block["type"] != "thinking":
        return block
    asked = request.get("thinking") or {}
    summarized = asked.get("type") == "between_tools" or asked.get("display") == "summarized"
    # without any word on thinking the tests get what they wrote
    return block if summarized or not asked else {**block, "thinking": ""}


def _setup(request: JsonObject) -> str:
    return canonical([request["model"], request.get("system"), request.get("tools")])


def _prefix(request: JsonObject) -> str:
    prefix = digest(_setup(request))
    for message in request["messages"]:
        for block in pieces(message):
            prefix = digest(prefix + _piece(message["role"], block))
    return prefix


def _piece(role: str, block: Block) -> str:
    return f"{role} {canonical(block)}"
