"""Builds one message from the events of Claude's stream."""

import json
from typing import Any

from idea_explorer.domain.errors import NetworkError, UnavailableError
from idea_explorer.domain.json import Block, text_of
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, Watcher

# Tokens or searches of one answer: far beyond any, and still a number that can have a price.
MAX_COUNT = 10**12


class MessageBuilder:
    """Takes the events of one stream, or a message that was not streamed."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._blocks: list[Block] = []
        self._parts: dict[tuple[int, str], list[str]] = {}  # of a block's field, until it ends
        self._unseen: list[str] = []  # deltas of text or of thinking that the watcher does not know
        self._is_thought = False  # whether those are of thinking
        self._usage: dict[str, Any] = {}
        self._stop_reason: Any = None
        self._stop_detail = ""
        self.is_complete = False

    def add_event(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "content_block_delta":  # first, because nearly all of them are
                self._extend(event["index"], event["delta"])
            case "message_start":
                self._count(event["message"].get("usage") or {})
            case "content_block_start":
                self._begin(event["content_block"])
            case "content_block_stop":
                self._close(event["index"])
            case "message_delta":
                self._stop_reason = event["delta"].get("stop_reason")
                self._stop_detail = _explanation(event["delta"])
                self._count(event.get("usage") or {})
            case "message_stop":
                self.is_complete = True
            case _:
                pass

    def add_message(self, message: dict[str, Any]) -> None:
        if not isinstance(message.get("content"), list):
            raise UnavailableError("Claude's response could not be read.", hint="Try again.")
        self._count(message.get("usage") or {})
        for block in message["content"]:
            self._begin(block)
            if block.get("type") == "text":
                self._watcher.text(block.get("text") or "")
            if block.get("type") == "thinking" and block.get("thinking"):
                self._watcher.thinking(block["thinking"])
            self._watcher.block(block)
        self._stop_reason = message.get("stop_reason")
        self._stop_detail = _explanation(message)
        self.is_complete = True

    def build(self) -> ModelAnswer:
        if not self.is_complete or self._stop_reason is None:
            raise NetworkError("Claude's response broke off.", hint="Try again.")
        if not isinstance(self._stop_reason, str):
            raise TypeError("the reason to stop is not a text")
        for index in range(len(self._blocks)):
            self._join_words(index)  # of a block whose end was not sent
        return ModelAnswer(
            content=self._blocks,
            stop_reason=self._stop_reason,
            usage=_usage(self._usage),
            stop_detail=self._stop_detail,
        )

    def _begin(self, block: Any) -> None:
        if not isinstance(block, dict):
            raise TypeError("a block is not an object")
        self._blocks.append(block)

    def _extend(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks[index]
        match delta["type"]:
            case "text_delta":
                self._add_words(index, "text", delta["text"])
            case "input_json_delta":
                self._parts.setdefault((index, "input"), []).append(delta["partial_json"])
            case "citations_delta":
                cited = block.get("citations")
                block["citations"] = [
                    *(cited if isinstance(cited, list) else []),
                    delta["citation"],
                ]
            case "thinking_delta":
                self._add_words(index, "thinking", delta["thinking"])
            case "signature_delta":
                block["signature"] = delta["signature"]
            case _:
                pass

    def _add_words(self, index: int, field: str, words: str) -> None:
        self._parts.setdefault((index, field), []).append(words)
        is_thought = field == "thinking"
        if is_thought != self._is_thought:
            self.show()
            self._is_thought = is_thought
        self._unseen.append(words)

    def _join_words(self, index: int) -> None:
        block = self._blocks[index]
        for field in ("text", "thinking"):
            if words := self._parts.pop((index, field), None):
                block[field] = "".join([text_of(block.get(field)), *words])

    def show(self) -> None:
        """Hand the words that have arrived to the watcher."""
        words = "".join(self._unseen)
        self._unseen.clear()
        if words:
            (self._watcher.thinking if self._is_thought else self._watcher.text)(words)

    def _close(self, index: int) -> None:
        block = self._blocks[index]
        self.show()
        self._join_words(index)
        if partial := "".join(self._parts.pop((index, "input"), [])):
            try:
                given = json.loads(partial)
            except (ValueError, RecursionError):
                # truncated by the output limit, or malformed: validation rejects it, nothing runs
                given = {}
            block["input"] = given if isinstance(given, dict) else {}
        self._watcher.block(block)

    def _count(self, usage: dict[str, Any]) -> None:
        """The counts are cumulative: a later number replaces an earlier one."""
        self._usage.update({name: value for name, value in usage.items() if value is not None})
        self._watcher.usage(_usage(self._usage))


def _usage(counts: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=_count(counts, "input_tokens"),
        output_tokens=_count(counts, "output_tokens"),
        cache_write_tokens=_count(counts, "cache_creation_input_tokens"),
        cache_read_tokens=_count(counts, "cache_read_input_tokens"),
        searches=_count(counts.get("server_tool_use") or {}, "web_search_requests"),
    )


def _count(counts: dict[str, Any], name: str) -> int:
    """Checked here, because what is stored is not checked before it is read again."""
    value = counts.get(name)
    if value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise ValueError(f"{name} is not a count")
    return value


def _explanation(holder: dict[str, Any]) -> str:
    details = holder.get("stop_details") or {}
    return str(details.get("explanation") or details.get("category") or "")
