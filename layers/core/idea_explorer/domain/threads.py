"""The turns of an exploration that has ended, so that another may go on from them."""

from collections.abc import Sequence

from idea_explorer.domain.json import Block, JsonObject, dump_canonical
from idea_explorer.domain.transcript import (
    THINKING,
    AnyEntry,
    ToolsRan,
    blocks_of,
    build_messages,
    closed,
    result_block,
    without_pending,
)

NOT_RUN: JsonObject = {
    "ok": False,
    "error_type": "not_run",
    "message": "The exploration ended before anything came of this call.",
}


def turns_of(entries: Sequence[AnyEntry], *, same_model: bool) -> list[JsonObject]:
    """What was sent and answered, in a shape that takes another question.

    A run may have ended anywhere. A call that nothing came of is answered with just that, and a search
    that never ended is left out. Thinking is signed for the model that thought, and no other gets it; nor
    does it get the changes of effort, which it may not take.
    """
    turns = build_messages(entries)
    if not same_model:
        turns = [_without_thinking(turn) for turn in turns if turn["role"] != "system"]
    if turns and turns[-1]["role"] == "assistant":
        said = closed(without_pending(blocks_of(turns[-1])))
        turns[-1:] = [
            {"role": "assistant", "content": [*said]},
            {"role": "user", "content": [*_results(said, entries)]},
        ]
    return [turn for turn in turns if turn["content"] or turn["role"] == "system"]


def _results(said: Sequence[Block], entries: Sequence[AnyEntry]) -> list[Block]:
    """A result for each call of the last answer, in its order."""
    last = entries[-1]
    ran = last.results if isinstance(last, ToolsRan) else ()
    known = {result.call_id: result_block(result) for result in ran}
    called = [str(block.get("id")) for block in said if block.get("type") == "tool_use"]
    return [known.get(call_id) or _not_run(call_id) for call_id in called]


def _not_run(call_id: str) -> Block:
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": dump_canonical(NOT_RUN),
        "is_error": True,
    }


def _without_thinking(turn: JsonObject) -> JsonObject:
    kept = [block for block in blocks_of(turn) if block.get("type") not in THINKING]
    return {**turn, "content": [*kept]}
