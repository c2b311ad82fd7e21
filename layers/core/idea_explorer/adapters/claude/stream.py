"""Builds Claude's response from its stream, as native content blocks."""

import json
from typing import Any

from idea_explorer.domain.errors import NetworkError, UnavailableError
from idea_explorer.domain.json import Block
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, Watcher


class MessageBuilder:
    """Takes the events of one stream, or a message that was not streamed."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._blocks: list[Block] = []
        self._partial_json: dict[int, list[str]] = {}
        self._usage: dict[str, Any] = {}
        self._stop_reason: str | None = None
        self._stop_detail = ""
        self.is_complete = False

    def add_event(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "message_start":
                self._count(event["message"].get("usage") or {})
            case "content_block_start":
                self._blocks.append(event["content_block"])
            case "content_block_delta":
                self._extend(event["index"], event["delta"])
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
            self._blocks.append(block)
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
        return ModelAnswer(
            content=self._blocks,
            stop_reason=self._stop_reason,
            usage=_usage(self._usage),
            stop_detail=self._stop_detail,
        )

    def _extend(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks[index]
        match delta["type"]:
            case "text_delta":
                block["text"] = f"{block.get('text') or ''}{delta['text']}"
                self._watcher.text(delta["text"])
            case "input_json_delta":
                self._partial_json.setdefault(index, []).append(delta["partial_json"])
            case "citations_delta":
                cited = block.get("citations")
                block["citations"] = [
                    *(cited if isinstance(cited, list) else []),
                    delta["citation"],
                ]
            case "thinking_delta":
                block["thinking"] = f"{block.get('thinking') or ''}{delta['thinking']}"
                if delta["thinking"]:
                    self._watcher.thinking(delta["thinking"])
            case "signature_delta":
                block["signature"] = delta["signature"]
            case _:
                pass

    def _close(self, index: int) -> None:
        block = self._blocks[index]
        if partial := "".join(self._partial_json.pop(index, [])):
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
        input_tokens=counts.get("input_tokens") or 0,
        output_tokens=counts.get("output_tokens") or 0,
        cache_write_tokens=counts.get("cache_creation_input_tokens") or 0,
        cache_read_tokens=counts.get("cache_read_input_tokens") or 0,
        searches=(counts.get("server_tool_use") or {}).get("web_search_requests") or 0,
    )


def _explanation(holder: dict[str, Any]) -> str:
    details = holder.get("stop_details") or {}
    return str(details.get("explanation") or details.get("category") or "")
