"""Where events go: into the exploration's history, and to whoever else listens."""

import json
import threading
from collections.abc import Sequence

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.events import (
    AnswerBegins,
    Heard,
    MessageStart,
    StatusChanged,
    StepFinished,
    TextDelta,
    ThinkingDelta,
    ToolCallStart,
    TryingAgain,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import EventLog, EventSink

GROUP_SECONDS = 0.5  # text is stored about twice a second: live enough, and far fewer writes


class History:
    """Stores events under the exploration's lease.

    Where an answer of which something was told broke off, the next one begins with the `message_start`
    once more: what came after the last `step_finished` is void, and clients take it back.
    """

    def __init__(self, log: EventLog, exploration: Exploration) -> None:
        self._log = log
        self._exploration = exploration
        self._start: MessageStart | None = None
        self._unfinished = False

    def emit(self, event: Heard) -> None:
        match event:
            case TryingAgain():
                return
            case AnswerBegins():
                if self._start and self._unfinished:
                    self.emit(self._start)
                return
            case MessageStart():
                self._start, self._unfinished = event, False
            case TextDelta() | ThinkingDelta() | ToolCallStart(during_answer=True):
                self._unfinished = True
            case StepFinished():
                self._unfinished = False
            case _:
                pass
        self._log.append(self._exploration.id, self._exploration.lease, event)


def tell_the_end(exploration: Exploration, events: EventLog, sink: EventSink) -> None:
    """Add the event that tells a final status, where whoever settled it died before saying so."""
    after, told = 0, ""
    while page := events.read(exploration.id, after=after):
        after = page[-1].number
        told = next((e.data for e in reversed(page) if e.type == "status_changed"), told)
    if not told or json.loads(told)["to"] != exploration.status:
        sink.emit(StatusChanged(from_="running", to=exploration.status))


class GroupedText:
    """Gathers deltas of one kind; every other event first sends what was gathered, so the order is kept."""

    def __init__(self, inner: EventSink, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self._kind: type[TextDelta | ThinkingDelta] = TextDelta
        self._parts: list[str] = []
        self._since = 0.0
        self._lock = threading.Lock()

    def emit(self, event: Heard) -> None:
        with self._lock:
            if isinstance(event, TextDelta | ThinkingDelta):
                self._gather(event)
            else:
                self._flush()
                self._inner.emit(event)

    def _gather(self, delta: TextDelta | ThinkingDelta) -> None:
        if type(delta) is not self._kind:
            self._flush()
            self._kind = type(delta)
        if not self._parts:
            self._since = self._clock.monotonic()
        self._parts.append(delta.content)
        if self._clock.monotonic() - self._since >= GROUP_SECONDS:
            self._flush()

    def _flush(self) -> None:
        if self._parts:
            self._inner.emit(self._kind(content="".join(self._parts)))
            self._parts.clear()


class Everywhere:
    def __init__(self, sinks: Sequence[EventSink]) -> None:
        self._sinks = sinks

    def emit(self, event: Heard) -> None:
        for sink in self._sinks:
            sink.emit(event)
