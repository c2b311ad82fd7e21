"""Whether a client only ever appends: its prefix keeps caches and signed thinking valid.

Every request must be the first of its conversation, an earlier one again, or an earlier one plus
its answer plus new content of the user, and changes of effort. Message bounds, cache marks and nulls
do not matter.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import takewhile

from tests.fakes.anthropic_wire import (
    Block,
    JsonObject,
    canonical,
    conversation_of,
    flat_blocks,
    system_blocks,
)

FIXED_FIELDS = ("system", "tools", "model", "thinking", "output_config")


@dataclass(frozen=True)
class _Exchange:
    number: int
    fixed: dict[str, str]
    asked: tuple[str, ...]
    answered: tuple[str, ...] | None  # None: the answer was not sent whole


def _adds_server_tools(request: JsonObject, tools: str, earlier: list[_Exchange]) -> bool:
    """Whether only Anthropic's own tools came in, once: they are left out until a plan is accepted."""
    own = [tool for tool in request["tools"] if "type" not in tool]
    is_more = _fixed({**request, "tools": own})["tools"] == earlier[0].fixed["tools"]
    return is_more and earlier[-1].fixed["tools"] in {earlier[0].fixed["tools"], tools}


class Histories:
    def __init__(self) -> None:
        self._exchanges: dict[str, list[_Exchange]] = {}
        self.paused_calls: set[str] = set()

    def violations_of(self, request: JsonObject, number: int) -> list[str]:
        earlier = self._exchanges.get(conversation_of(request), [])
        if not earlier:
            return []
        first = earlier[0]
        changed = [
            f"request {number}: `{field}` is not what request {first.number} had"
            for field, value in _fixed(request).items()
            if value != first.fixed[field]
            and not (field == "tools" and _adds_server_tools(request, value, earlier))
        ]
        return [*changed, *_rewritten(request, earlier, number)]

    def complaint_about(self, request: JsonObject) -> str | None:
        """A thought that was left out of an answer of which the rest goes back."""
        asked = _flat(flat_blocks(request))
        earlier = self._exchanges.get(conversation_of(request), [])
        for exchange in earlier:
            said = _closed(exchange.answered or ())
            rest = tuple(block for block in said if not _is_thought(block))
            start = len(exchange.asked)
            sent = asked[start : start + len(rest)]
            whole = asked[start : start + len(said)] == said
            same = rest and sent == rest and asked[:start] == exchange.asked
            if len(rest) < len(said) and same and not whole:
                found = json.loads(rest[0].partition(": ")[2])["type"]
                return DROPPED.format(len(request["messages"]) - 2, found)
        return None

    def record(self, request: JsonObject, number: int, answer: JsonObject | None) -> None:
        """Remember a request and the message that answered it, None if it was not sent whole."""
        said = None if answer is None else _flat([("assistant", b) for b in answer["content"]])
        exchange = _Exchange(number, _fixed(request), _flat(flat_blocks(request)), said)
        self._exchanges.setdefault(conversation_of(request), []).append(exchange)
        if answer is not None and answer["stop_reason"] == "pause_turn":
            self.paused_calls.update(b["id"] for b in answer["content"] if "id" in b)


DROPPED = (
    "messages.{}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When "
    "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
    "lastmost set of `tool_use` and `tool_result` blocks)."
)


def _is_thought(block: str) -> bool:
    return json.loads(block.partition(": ")[2])["type"] in {"thinking", "redacted_thinking"}


def _closed(said: tuple[str, ...]) -> tuple[str, ...]:
    """An answer without the thoughts at its end, which may not stand there."""
    while said and _is_thought(said[-1]):
        said = said[:-1]
    return said


def _fixed(request: JsonObject) -> dict[str, str]:
    fields = {**request, "system": system_blocks(request)}
    return {field: canonical(fields.get(field)) for field in FIXED_FIELDS}


def _flat(blocks: list[tuple[str, Block]]) -> tuple[str, ...]:
    return tuple(f"{role}: {canonical(block)}" for role, block in blocks)


def _rewritten(request: JsonObject, earlier: list[_Exchange], number: int) -> list[str]:
    asked = _flat(flat_blocks(request))
    if any(_continues(asked, exchange) for exchange in earlier):
        return []
    nearest = max(earlier, key=lambda exchange: _common(asked, exchange))
    agreed = _common(asked, nearest)
    found = asked[agreed] if agreed < len(asked) else "the end"
    return [
        f"request {number}: is not an earlier request plus its answer; it leaves request "
        f"{nearest.number} at block {agreed}: {found[:200]}"
    ]


def _continues(asked: tuple[str, ...], exchange: _Exchange) -> bool:
    if asked == exchange.asked:
        return True
    if exchange.answered is None:
        return False
    for answered in (exchange.answered, _closed(exchange.answered)):
        so_far = exchange.asked + answered
        appended = asked[len(so_far) :]
        if asked[: len(so_far)] == so_far and not any(
            b.startswith("assistant: ") for b in appended
        ):
            return True
    return False


def _common(asked: tuple[str, ...], exchange: _Exchange) -> int:
    """How many blocks the request shares with an earlier exchange."""
    known = exchange.asked + (exchange.answered or ())
    same = takewhile(lambda pair: pair[0] == pair[1], zip(asked, known, strict=False))
    return sum(1 for _ in same)
