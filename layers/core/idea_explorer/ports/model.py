"""One call to the model and its watcher, and where a run reports what happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from idea_explorer.domain.dataclass import dataclass

if TYPE_CHECKING:
    from idea_explorer.domain.deadline import Deadline
    from idea_explorer.domain.events import RunEvent
    from idea_explorer.domain.json import Block, JsonObject
    from idea_explorer.domain.usage import Usage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """`writing` means that the report is due now. The tools stay on even then, because changing the tool
    choice invalidates the cached messages. `tools_off` keeps the tool list and forbids its use.
    """

    model_id: str
    system: Sequence[Block]
    tools: Sequence[Block]
    messages: Sequence[JsonObject]
    max_tokens: int
    writing: bool
    tools_off: bool = False
    thinking: JsonObject | None = None
    effort: str | None = None
    schema: JsonObject | None = None  # the answer is JSON of this schema
    # the bytes as JSON of the system prompt and the tools, and of the messages, where they are known
    fixed_size: int | None = None
    messages_size: int | None = None
    # a turn of the model and how many of its blocks the request before ended with, if it was paused there
    paused_at: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    content: list[Block]
    stop_reason: str
    usage: Usage
    stop_detail: str = ""


class Watcher(Protocol):
    """Notified while a response streams. Raising from any method aborts the call."""

    def tick(self) -> None:
        """Called several times a second, whether or not anything arrives."""

    def text(self, delta: str) -> None: ...

    def thinking(self, delta: str) -> None:
        """A piece of the thinking summary, which is never part of a report."""

    def block(self, block: Block) -> None:
        """A content block is complete."""

    def usage(self, usage: Usage) -> None:
        """What the call has cost so far."""


class Model(Protocol):
    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        """Stream one response; raises ExternalError. The content is untrusted data."""


class EventSink(Protocol):
    def emit(self, event: RunEvent) -> None: ...


class Log(Protocol):
    """Structured log lines. Never pass it secrets, file contents or prompts."""

    def info(self, message: str, **fields: object) -> None: ...
    def warning(self, message: str, **fields: object) -> None: ...
    def error(self, message: str, **fields: object) -> None: ...
