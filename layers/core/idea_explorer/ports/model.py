"""One call to the model, and whoever watches it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.usage import Usage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call.

    `writing` says that the report is asked for now; the tools stay on even then, because another tool
    choice throws the cached messages away. `tools_off` keeps the tool list and forbids its use.
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


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    content: list[Block]
    stop_reason: str
    usage: Usage
    stop_detail: str = ""


class Watcher(Protocol):
    """Told of everything while an answer streams. Raising from any method breaks the call off."""

    def tick(self) -> None:
        """Called several times a second, whether anything arrives or not."""
        ...

    def text(self, delta: str) -> None: ...

    def thinking(self, delta: str) -> None:
        """A piece of the summary of what the model thinks. It is never part of a report."""
        ...

    def block(self, block: Block) -> None:
        """A content block is whole."""
        ...

    def usage(self, usage: Usage) -> None:
        """What the call has cost so far."""
        ...


class Model(Protocol):
    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        """Stream one answer; raises ExternalError. What comes back is untrusted data."""
        ...
