"""Where a run reports what happens."""

from typing import Protocol

from idea_explorer.domain.events import RunEvent


class EventSink(Protocol):
    def emit(self, event: RunEvent) -> None: ...


class Log(Protocol):
    """Structured log lines. Never pass it secrets, file contents or prompts."""

    def info(self, message: str, **fields: object) -> None: ...
    def warning(self, message: str, **fields: object) -> None: ...
    def error(self, message: str, **fields: object) -> None: ...
