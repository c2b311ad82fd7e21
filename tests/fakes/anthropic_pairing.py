"""The rules of the API on how messages belong together: roles, calls and their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from itertools import pairwise, takewhile

from tests.fakes.anthropic_turns import SERVER_RESULTS
from tests.fakes.anthropic_wire import JsonObject, content_blocks, unfinished_searches


def roles_alternate(request: JsonObject) -> Iterator[str]:
    if request["messages"][0]["role"] != "user":
        yield "messages: first message must use the `user` role"
    for index, (earlier, later) in enumerate(pairwise(request["messages"])):
        # Only the rest of a paused turn follows an assistant message as another one.
        continued = any(b["type"] == "server_tool_use" for b in content_blocks(earlier))
        if earlier["role"] == later["role"] and not (later["role"] == "assistant" and continued):
            yield (
                f"messages.{index + 1}: roles must alternate between `user` and `assistant`, "
                f"but found multiple `{later['role']}` roles in a row"
            )


def tool_calls_are_answered(request: JsonObject) -> Iterator[str]:
    seen: set[str] = set()
    calls: list[str] = []
    for index, message in enumerate(request["messages"]):
        if message["role"] == "system":
            continue
        blocks = content_blocks(message)
        leading = takewhile(lambda block: block["type"] == "tool_result", blocks)
        answered = [block["tool_use_id"] for block in leading]
        missing = [call for call in calls if call not in answered]
        if missing:
            yield _without_result(index - 1, missing)
        for position, block in enumerate(blocks):
            if block["type"] == "tool_result" and block["tool_use_id"] not in calls:
                yield (
                    f"messages.{index}.content.{position}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block must "
                    "have a corresponding `tool_use` block in the previous message."
                )
        for call, count in Counter(answered).items():
            if count > 1:
                yield (
                    f"messages.{index}.content: each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {call}"
                )
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(calls)) < len(calls) or seen & set(calls):
            yield f"messages.{index}: `tool_use` ids must be unique"
        seen.update(calls)
    if calls:
        yield _without_result(len(request["messages"]) - 1, calls)


def _without_result(index: int, calls: list[str]) -> str:
    return (
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(calls)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message."
    )


def searches_are_finished(request: JsonObject) -> Iterator[str]:
    """A search left open goes on in the next answer, if nothing but tool results comes between."""
    open_calls: list[str] = []
    for index, message in enumerate(request["messages"]):
        blocks = content_blocks(message)
        if message["role"] == "system":
            continue
        if message["role"] == "user":
            if open_calls and any(block["type"] != "tool_result" for block in blocks):
                yield _without_search_result(index - 1, open_calls[0])
            continue
        known = {*open_calls, *(b["id"] for b in blocks if b["type"] == "server_tool_use")}
        for position, block in enumerate(blocks):
            if block["type"] in SERVER_RESULTS and block["tool_use_id"] not in known:
                yield (
                    f"messages.{index}.content.{position}: unexpected `tool_use_id` found in "
                    f"`{block['type']}` blocks: {block['tool_use_id']}. Each "
                    f"`{block['type']}` block must have a corresponding `server_tool_use` "
                    "block before it."
                )
        answered = {block.get("tool_use_id") for block in blocks}
        forgotten = [call for call in open_calls if call not in answered]
        if forgotten:
            yield _without_search_result(index - 1, forgotten[0])
        open_calls = unfinished_searches(blocks)


def _without_search_result(index: int, call: str) -> str:
    return (
        f"messages.{index}: `web_search` tool use with id `{call}` was found without a "
        "corresponding `web_search_tool_result` block"
    )


def ends_properly(request: JsonObject, paused_calls: Container[str]) -> Iterator[str]:
    last = next(m for m in reversed(request["messages"]) if m["role"] != "system")
    if last["role"] == "user":
        return
    blocks = content_blocks(last)
    ends_in_server_tool = blocks[-1]["type"] in ("server_tool_use", *SERVER_RESULTS)
    if not ends_in_server_tool and not any(block.get("id") in paused_calls for block in blocks):
        yield (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def turns_end_properly(request: JsonObject) -> Iterator[str]:
    for index, message in enumerate(request["messages"][:-1]):
        blocks = content_blocks(message)
        if message["role"] == "assistant" and blocks[-1]["type"] in (
            "thinking",
            "redacted_thinking",
        ):
            yield f"messages.{index}: The final block in an assistant message cannot be `thinking`."
