"""Claude's stream: read while the deadline and a cancel are watched, and built into one message.

While Claude thinks, nothing may arrive but pings. So a thread reads the stream, and the caller checks several
times a second whether to go on. The caller also decodes what was read, so that no event is handed from one
thread to another by itself.
"""

import contextlib
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import anthropic

from idea_explorer.adapters.claude.sse import decode_events
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import NetworkError, UnavailableError
from idea_explorer.domain.json import Block, parse_json, text_of
from idea_explorer.domain.threads import run_in_thread
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, Watcher

CHECK_SECONDS = 0.2
_SKIPPED = (None, "", "ping")  # names of events

Stream = anthropic.Stream[Any]


@dataclass(frozen=True, slots=True)
class UnstreamedMessage:
    """Some gateways answer a streaming request with the whole message."""

    message: Any


class StreamReader:
    """A context manager that opens a stream and yields its events in order; leaving it ends the call.

    `check` is called several times a second, whatever arrives, and may raise. A call that has sent no event
    yet then gets a grace period, in which its first one may still say what it costs. `catch_up` is called
    when all that has arrived was yielded, before waiting for more, and `after_read` when what was read at
    once was.
    """

    def __init__(
        self,
        connect: Callable[[], Stream],
        check: Callable[[], None],
        catch_up: Callable[[], None],
        *,
        grace_seconds: float,
        after_read: Callable[[], None] = lambda: None,
    ) -> None:
        self._connect = connect
        self._check = check
        self._catch_up = catch_up
        self._after_read = after_read
        self._grace_seconds = grace_seconds
        self._received: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stream: Stream | None = None
        self._whole: UnstreamedMessage | None = None
        self._begun = False
        self._check_at = time.monotonic() + CHECK_SECONDS
        self._grace_until: float | None = None
        self._ended = threading.Event()
        self._given_up = threading.Event()

    def __enter__(self) -> Iterator[Any]:
        run_in_thread(self._read, name="claude-stream")
        return self._events()

    def __exit__(self, *_: object) -> None:
        self._given_up.set()
        if self._stream is not None and not self._ended.is_set():
            _disconnect(self._stream)

    def _events(self) -> Iterator[Any]:
        """Raises what the connection or `check` raises."""
        for name, data in decode_events(self._pieces()):
            if name == "error":
                raise self._describe_error(data)
            if name in _SKIPPED or not data:
                continue
            self._begun = True
            yield parse_json(data)
        if self._whole is not None:
            yield self._whole

    def _pieces(self) -> Iterator[bytes]:
        while (item := self._next()) is not _END:
            if isinstance(item, BaseException):
                raise item
            if isinstance(item, UnstreamedMessage):
                self._whole = item
                continue
            yield item
            if self._received.empty():
                self._catch_up()
            if (
                self._begun
            ):  # else the grace period says how long what has been asked is worth waiting for
                self._after_read()

    def _describe_error(self, data: bytes) -> anthropic.APIStatusError:
        assert self._stream is not None
        try:
            body = parse_json(data)
        except ValueError:
            body = data.decode(errors="replace")
        return anthropic.APIStatusError(str(body), response=self._stream.response, body=body)

    def _next(self) -> Any:
        """What was read, in order. A check that is due waits for what has arrived, but not for more: also
        pings arrive, of which no event comes."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._received.get(timeout=max(0.0, self._check_at - time.monotonic()))
            self._check_at = time.monotonic() + CHECK_SECONDS
            try:
                self._check()
            except Exception:
                with contextlib.suppress(queue.Empty):
                    return self._received.get(timeout=self._grace_left())
                raise

    def _grace_left(self) -> float:
        if self._begun:
            return 0.0
        self._grace_until = self._grace_until or time.monotonic() + self._grace_seconds
        return max(0.0, self._grace_until - time.monotonic())

    def _read(self) -> None:
        try:
            self._stream = stream = self._connect()
            with stream:
                if self._given_up.is_set():
                    return
                if "json" in stream.response.headers.get("content-type", ""):
                    self._received.put(UnstreamedMessage(json.loads(stream.response.read())))
                else:
                    for read in stream.response.iter_bytes():
                        self._received.put(read)
            self._ended.set()
            self._received.put(_END)
        except BaseException as error:  # noqa: BLE001  the caller raises it
            self._ended.set()
            self._received.put(error)


_END = object()


def _disconnect(stream: Stream) -> None:
    """Shut the socket down: merely closing it does not wake the thread that reads from it."""
    with contextlib.suppress(Exception):
        connection = stream.response.extensions["network_stream"].get_extra_info("socket")
        connection.shutdown(socket.SHUT_RDWR)


class MessageBuilder:
    """Takes the events of one stream, or a message that was not streamed."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._blocks: list[Block] = []
        self._parts: dict[tuple[int, str], list[str]] = {}  # of a block's field, until it ends
        self._unseen: list[str] = []  # deltas of text or of thinking that the watcher does not know
        self._is_thought = False  # whether those are of thinking
        self._usage: dict[str, Any] = {}
        self._stop_reason: str | None = None
        self._stop_detail = ""
        self.is_complete = False

    def add_event(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "content_block_delta":  # first, because nearly all of them are
                self._extend(event["index"], event["delta"])
            case "message_start":
                self._count(event["message"].get("usage") or {})
            case "content_block_start":
                self._blocks.append(event["content_block"])
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
        for index in range(len(self._blocks)):
            self._join_words(index)  # of a block whose end was not sent
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
        input_tokens=counts.get("input_tokens") or 0,
        output_tokens=counts.get("output_tokens") or 0,
        cache_write_tokens=counts.get("cache_creation_input_tokens") or 0,
        cache_read_tokens=counts.get("cache_read_input_tokens") or 0,
        searches=(counts.get("server_tool_use") or {}).get("web_search_requests") or 0,
    )


def _explanation(holder: dict[str, Any]) -> str:
    details = holder.get("stop_details") or {}
    return str(details.get("explanation") or details.get("category") or "")
