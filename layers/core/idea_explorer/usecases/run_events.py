"""Where events go: into the exploration's history, and to whoever else listens."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from idea_explorer.agent.state import State
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.events import (
    AnswerStarted,
    AnyEvent,
    ErrorEvent,
    MessageStart,
    RetryScheduled,
    RunEvent,
    RunFinished,
    StatusChanged,
    StepFinished,
    TextDelta,
    ThinkingDelta,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Pause
from idea_explorer.domain.usage import Price
from idea_explorer.ports import EventLog, EventSink, Explorations, Transcript
from idea_explorer.usecases.outcome import stats_of

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

    def emit(self, event: RunEvent) -> None:
        match event:
            case RetryScheduled() | RunFinished():
                return
            case AnswerStarted():
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


class GroupedText:
    """Gathers deltas of one kind; every other event first sends what was gathered, so the order is kept."""

    def __init__(self, inner: EventSink, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self._kind: type[TextDelta | ThinkingDelta] = TextDelta
        self._parts: list[str] = []
        self._since = 0.0
        self._lock = threading.Lock()

    def emit(self, event: RunEvent) -> None:
        with self._lock:
            if isinstance(event, TextDelta | ThinkingDelta):
                self._gather(event)
            else:
                self._flush()
                self._inner.emit(event)

    def flush(self) -> None:
        """Send what was gathered, before something is stored that comes after it."""
        with self._lock:
            self._flush()

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


class FanOutSink:
    def __init__(self, sinks: Sequence[EventSink]) -> None:
        self._sinks = sinks

    def emit(self, event: RunEvent) -> None:
        for sink in self._sinks:
            sink.emit(event)


class RunSink:
    """Where the events of a run go: into its history, text grouped, and to whoever else listens."""

    def __init__(
        self,
        log: EventLog,
        exploration: Exploration,
        explorations: Explorations,
        clock: Clock,
        sinks: Sequence[EventSink],
    ) -> None:
        self._explorations = explorations
        self._history = GroupedText(History(log, exploration), clock)
        self._others = FanOutSink(sinks)

    def emit(self, event: RunEvent) -> None:
        self._history.emit(event)
        self._others.emit(event)

    def save(self, exploration: Exploration, *events: AnyEvent) -> None:
        """Store the record and the events that tell of it, both or neither."""
        self._history.flush()
        self._explorations.save(exploration, events)
        self.announce(*events)

    def announce(self, *events: AnyEvent) -> None:
        """Tell the others of events that are in the history already."""
        for event in events:
            self._others.emit(event)


def close_run(
    before: Exploration,
    ended: Exploration,
    *,
    explorations: Explorations,
    sinks: Iterable[EventSink],
    failure: ErrorEvent | None = None,
) -> None:
    """Store the end under the lease, then tell whoever else listens; raises LeaseLostError."""
    events = events_of_end(before, ended, failure)
    explorations.save(ended, events)
    announce_end(ended, events, sinks)


def events_of_end(
    before: Exploration, ended: Exploration, failure: ErrorEvent | None = None
) -> list[AnyEvent]:
    changed = StatusChanged(from_=before.status, to=ended.status)
    return [failure, changed] if failure else [changed]


def announce_end(
    ended: Exploration, events: Sequence[AnyEvent], sinks: Iterable[EventSink]
) -> None:
    """Log and count an end that is stored."""
    for sink in sinks:
        for event in (*events, RunFinished(exploration=ended)):
            sink.emit(event)


class ProgressSink:
    """Saves the figures with every step, so that a list tells them without reading any history.

    They come from the journal, not from the events: a step whose event was lost counts too. What the
    run waits for is kept as well, until the next step: no event tells it.
    """

    def __init__(
        self,
        exploration: Exploration,
        transcript: Transcript,
        explorations: Explorations,
        clock: Clock,
        prices: Mapping[str, Price],
    ) -> None:
        self._exploration = exploration
        self._journal = transcript
        self._explorations = explorations
        self._clock = clock
        self._prices = prices

    def emit(self, event: RunEvent) -> None:
        if not isinstance(event, StepFinished | RetryScheduled):
            return
        now = self._clock.now()
        stats = stats_of(State(self._journal.entries), None, self._prices)
        pause = None
        if isinstance(event, RetryScheduled):
            until = now + timedelta(seconds=event.seconds)
            pause = Pause(sentence=event.sentence, until=until)
        self._explorations.save(self._exploration.replace(stats=stats, updated_at=now, pause=pause))
