"""Plausible token counts: a token for four characters, prompt caching as the API does it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tests.fakes.anthropic_turns import SERVER_RESULTS, TOKENS, Usage
from tests.fakes.anthropic_wire import (
    Block,
    JsonObject,
    canonical,
    digest,
    flat_blocks,
    system_blocks,
)

CHARACTERS_PER_TOKEN = 4
MIN_CACHED_TOKENS = 512  # what is shorter is not cached, and nothing says so
LOOKBACK_BLOCKS = 20  # a breakpoint finds an earlier cache entry at most this many blocks back


def tokens_of(value: object) -> int:
    if isinstance(value, dict) and TOKENS in value:
        return int(value[TOKENS])
    return max(1, len(json.dumps(value, ensure_ascii=False)) // CHARACTERS_PER_TOKEN)


def searches_in(blocks: Sequence[Block]) -> int:
    """Searches that are billed: those that failed are not."""
    results = (block for block in blocks if block["type"] == "web_search_tool_result")
    return sum(isinstance(block["content"], list) for block in results)


def pages_in(blocks: Sequence[Block]) -> int:
    results = (block for block in blocks if block["type"] == "web_fetch_tool_result")
    return sum(block["content"]["type"] == "web_fetch_result" for block in results)


def read_by_server_tools(blocks: Sequence[Block]) -> int:
    """Tokens of results that the model read while it answered. What code called for, only the code read."""
    results = (block for block in blocks if block["type"] in SERVER_RESULTS)
    return sum(tokens_of(block) for block in results if not is_for_code(block))


def is_for_code(block: Block) -> bool:
    """Whether a result of a server tool went to code, which filters it."""
    caller = (block.get("caller") or {}).get("type", "direct")
    return block["type"] in SERVER_RESULTS and caller != "direct"


@dataclass(frozen=True)
class _Part:
    """A cacheable piece of a request and the hash of everything up to its end."""

    tokens: int
    prefix: str
    breakpoint: bool


def _parts(request: JsonObject) -> list[_Part]:
    """Tools, then system, then messages, which is the order in which the API renders them."""
    setup = [*(request.get("tools") or []), *system_blocks(request)]
    messages = [{"role": role, **block} for role, block in flat_blocks(request)]
    # Another tool choice, thinking setting or effort leaves tools and system cached, messages not.
    settings = canonical(
        [request.get(name) for name in ("tool_choice", "thinking", "output_config")]
    )
    parts: list[_Part] = []
    prefix = digest(request["model"])
    for position, piece in enumerate([*setup, *messages]):
        salt = settings if position == len(setup) else ""
        words = canonical(piece)
        prefix = digest(prefix + salt + words)
        # what was for code alone is not in the context window
        read = piece.get("type", "") not in SERVER_RESULTS or not is_for_code(piece)
        tokens = max(1, len(words) // CHARACTERS_PER_TOKEN) if read else 0
        parts.append(_Part(tokens, prefix, piece.get("cache_control") is not None))
    if request.get("cache_control") is not None:  # automatic: the last block
        last = parts[-1]
        parts[-1] = _Part(last.tokens, last.prefix, breakpoint=True)
    return parts


def count_input(request: JsonObject) -> int:
    return sum(part.tokens for part in _parts(request))


class PromptCache:
    """Remembers the prefixes that requests marked; nothing expires."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def usage_of(self, request: JsonObject) -> Usage:
        """What the request's input costs, and cache what it marks."""
        parts = _parts(request)
        marked = [
            position
            for position, part in enumerate(parts)
            if part.breakpoint and _sum(parts[: position + 1]) >= MIN_CACHED_TOKENS
        ]
        read = max((self._reach(parts, position) for position in marked), default=0)
        end = max(marked, default=-1) + 1
        self._written.update(parts[position].prefix for position in marked)
        return Usage(
            input_tokens=_sum(parts[max(read, end) :]),
            cache_read_input_tokens=_sum(parts[:read]),
            cache_creation_input_tokens=_sum(parts[read:end]),
        )

    def _reach(self, parts: Sequence[_Part], position: int) -> int:
        """How many parts are in the cache as seen from this breakpoint."""
        for back in range(position, max(-1, position - LOOKBACK_BLOCKS), -1):
            if parts[back].prefix in self._written:
                return back + 1
        return 0


def _sum(parts: Sequence[_Part]) -> int:
    return sum(part.tokens for part in parts)


def clip(blocks: Sequence[Block], max_tokens: int) -> tuple[Block, ...]:
    """As much of the answer as max_tokens allows, thinking included: text is cut, calls are left out
    whole, and thinking that goes on to the limit leaves nothing."""
    kept: list[Block] = []
    left = max_tokens
    for block in blocks:
        cost = 0 if block["type"] in SERVER_RESULTS else tokens_of(block)
        if cost <= left:
            kept.append(block)
            left -= cost
            continue
        if block["type"] == "thinking":
            kept.append({**block, TOKENS: left})
        elif block["type"] == "text" and (words := _fitting(block, left)):
            kept.append({**block, "text": words})
        break
    return tuple(kept)


def _fitting(block: Block, tokens: int) -> str:
    words: str = block["text"]
    while words and tokens_of({**block, "text": words}) > tokens:
        words = words[: len(words) * 9 // 10]
    return words


def share(total: int, part: int, whole: int) -> int:
    """The part of a number that was sent, at least 1 of anything."""
    return min(total, max(1, math.ceil(total * part / whole))) if whole else min(total, 1)
