"""Watching an answer as it streams: what has arrived, and when to interrupt it."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import (
    ExplorerError,
    ExternalError,
    NetworkError,
    UnreachableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.events import (
    AnswerStarted,
    RunEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEnd,
    ToolCallError,
    ToolCallStart,
)
from idea_explorer.domain.json import Block, JsonObject, sanitize, sanitize_block, text_of
from idea_explorer.domain.server_tools import RESULT_TYPES, WEB_FETCH
from idea_explorer.domain.text import one_line, pluralize
from idea_explorer.domain.tools import ToolRecord, parse_search_results
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import EventSink

StopWhy = Literal["cancelled", "gathering_over", "deadline", "budget"]
# An interrupted call does not report its output tokens, and thinking may not show in the text: the
# estimate is the larger of what the text and the time suggest.
CHARS_PER_TOKEN = 2.0
TOKENS_PER_SECOND = 100.0
CANCEL_CHECK_SECONDS = 1.0
UNSEEN_TOKENS = 100  # written but not yet arrived


class OutOfTimeError(ExplorerError):
    code = "TIMEOUT"


class OutOfBudgetError(ExplorerError):
    code = "BUDGET_EXCEEDED"


class Interrupted(Exception):
    """We interrupted the call ourselves."""

    def __init__(self, reason: StopWhy) -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def error(self) -> ExplorerError | None:
        match self.reason:
            case "deadline":
                return OutOfTimeError("The deadline passed before the report was whole.")
            case "budget":
                return OutOfBudgetError("The budget does not cover another model call.")
            case _:
                return None


# failures before the first event of a stream, after which the call may or may not have been billed
UNKNOWN_BILL = (NetworkError, UpstreamTimeoutError, Interrupted)


@dataclass
class StreamWatcher:
    """Emits what arrives as events, and checks the deadline and cancellation even while nothing arrives: a
    model may think for minutes. The answer is paid for, so a store that cannot be reached does not
    interrupt it: those events are lost."""

    sink: EventSink
    deadline: Deadline
    cancelled: Callable[[], bool]
    step: int
    gathering: bool
    search_tokens: int
    page_tokens: int = 0
    _searches: set[str] = field(default_factory=set)
    _fetches: set[str] = field(default_factory=set)
    _parts: list[str] = field(default_factory=list)
    _usage: Usage | None = None
    _since: float = 0.0
    _ask_again_at: float = -math.inf

    @property
    def so_far(self) -> str:
        return "".join(self._parts)

    def billed(self, error: Exception, reserved: Usage) -> Usage:
        """The most that an interrupted call can have cost."""
        if self._usage is None:
            unknown = isinstance(error, UNKNOWN_BILL) and not isinstance(error, UnreachableError)
            return reserved if unknown else Usage()
        by_text = len(self.so_far) / CHARS_PER_TOKEN
        by_time = (self.deadline.clock.monotonic() - self._since) * TOKENS_PER_SECOND
        output = max(self._usage.output_tokens, UNSEEN_TOKENS + math.ceil(max(by_text, by_time)))
        capped = min(output, max(reserved.output_tokens, self._usage.output_tokens))
        # a stream counts search results and pages only in its last event
        unseen = max(0, len(self._searches) - self._usage.searches)
        pages = len(self._fetches) * self.page_tokens
        found = Usage(input_tokens=unseen * self.search_tokens + pages, searches=unseen)
        return replace(self._usage, output_tokens=capped) + found

    def begin(self, system: Sequence[Block], messages: Sequence[JsonObject]) -> None:
        self._emit(AnswerStarted(step=self.step, system=system, messages=messages))

    def tick(self) -> None:
        if self.deadline.passed:
            raise Interrupted("gathering_over" if self.gathering else "deadline")
        now = self.deadline.clock.monotonic()
        if now >= self._ask_again_at:
            # each check reads the store
            self._ask_again_at = now + CANCEL_CHECK_SECONDS
            with suppress(ExternalError):
                if self.cancelled():
                    raise Interrupted("cancelled")

    def text(self, delta: str) -> None:
        words = text_of(sanitize(delta))
        self._parts.append(words)
        self._emit(TextDelta(content=words))

    def thinking(self, delta: str) -> None:
        self._emit(ThinkingDelta(content=text_of(sanitize(delta))))

    def usage(self, usage: Usage) -> None:
        if self._usage is None:
            self._since = self.deadline.clock.monotonic()
        self._usage = usage

    def block(self, block: Block) -> None:
        """Web searches and fetches run at Anthropic; they are shown as tool calls without a duration. The
        code that filters their results is not shown."""
        block = sanitize_block(block)
        call_id = text_of(block.get("id")) or text_of(block.get("tool_use_id"))
        name = text_of(block.get("name"))
        match block.get("type"):
            case "server_tool_use" if name in RESULT_TYPES.values():
                self._count(name, call_id)
                given = block.get("input")
                self._emit(
                    ToolCallStart(
                        tool_call_id=call_id,
                        tool_name=name,
                        input=given if isinstance(given, dict) else {},
                        during_answer=True,
                    )
                )
            case "thinking" if block.get("thinking"):
                self._emit(ThinkingDelta(content="\n\n"))  # one thought ends here
            case str() as kind if kind in RESULT_TYPES:
                self._count(RESULT_TYPES[kind], call_id)
                self._emit(_server_tool_ended(call_id, block, self.step))

    def _count(self, name: str, call_id: str) -> None:
        (self._fetches if name == WEB_FETCH else self._searches).add(call_id)

    def _emit(self, event: RunEvent) -> None:
        with suppress(ExternalError):
            self.sink.emit(event)


def _server_tool_ended(call_id: str, block: Block, step: int) -> ToolCallEnd | ToolCallError:
    record = ToolRecord.of_server_result(block, step)
    found = block.get("content")
    if record.ok and isinstance(found, list):
        return ToolCallEnd(
            tool_call_id=call_id,
            summary=f"Found {pluralize(len(found), 'page')}",
            result_count=len(found),
            output={"ok": True, "results": [_page(page) for page in found]},
            record=record,
        )
    if record.ok:
        page = next(parse_search_results([block]))
        return ToolCallEnd(
            tool_call_id=call_id,
            summary=f"Read {one_line(page.source, 200)} ({record.bytes or 0:,} bytes)",
            output={"ok": True, "url": page.source, "title": page.title, "bytes": record.bytes},
            record=record,
        )
    return ToolCallError(
        tool_call_id=call_id,
        error=f"{record.name} failed: {record.error_type}",
        retryable=False,
        was_retried=False,
        record=record,
    )


def _page(page: object) -> Block:
    if not isinstance(page, dict):
        return {}
    return {name: page.get(name) for name in ("url", "title", "page_age") if page.get(name)}
