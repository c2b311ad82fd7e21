"""Where the events of a run go: into its history, and to the sinks that log, count and show them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from idea_explorer.domain.alarms import ALARMS, Alarm
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.events import (
    AnswerStarted,
    AnyEvent,
    BranchFinished,
    ErrorEvent,
    MessageStart,
    ReportVerified,
    RetryScheduled,
    RunEvent,
    RunFinished,
    StatusChanged,
    StepFinished,
    TextDelta,
    ThinkingDelta,
    ToolCallEnd,
    ToolCallError,
    ToolCallStart,
    WebhookGivenUp,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.usecases.deps import Deps

if TYPE_CHECKING:
    from idea_explorer.ports import EventLog, EventSink


class History:
    """Stores events under the exploration's lease.

    Where an answer broke off after some of it was stored, the next one begins with `message_start`
    again: clients then drop what came after the last `step_finished`.
    """

    def __init__(self, log: EventLog, exploration: Exploration) -> None:
        self._log = log
        self._exploration = exploration
        self._start: MessageStart | None = None
        self._unfinished = False

    def emit(self, event: RunEvent) -> None:
        match event:
            case RetryScheduled() | RunFinished() | ReportVerified() | WebhookGivenUp():
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
    """Collects deltas of one kind for so many seconds, also if no other follows. Any other event sends
    them first, which keeps the order."""

    def __init__(self, inner: EventSink, clock: Clock, seconds: float) -> None:
        self._inner = inner
        self._clock = clock
        self._seconds = seconds
        self._kind: type[TextDelta | ThinkingDelta] = TextDelta
        self._parts: list[str] = []
        self._since = 0.0
        self._alarm: Alarm | None = None
        self._failure: Exception | None = None
        self._lock = threading.Lock()

    def emit(self, event: RunEvent) -> None:
        with self._lock:
            self._raise_failure()
            if isinstance(event, TextDelta | ThinkingDelta):
                self._collect(event)
            else:
                self._flush()
                self._inner.emit(event)

    def flush(self) -> None:
        """Send what was collected, before something later is stored."""
        with self._lock:
            self._raise_failure()
            self._flush()

    def _collect(self, delta: TextDelta | ThinkingDelta) -> None:
        if type(delta) is not self._kind:
            self._flush()
            self._kind = type(delta)
        if not self._parts:
            self._since = self._clock.monotonic()
            self._alarm = ALARMS.call_later(self._seconds, self._flush_in_time)
        self._parts.append(delta.content)
        if self._clock.monotonic() - self._since >= self._seconds:
            self._flush()

    def _flush(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._parts:
            self._inner.emit(self._kind(content="".join(self._parts)))
            self._parts.clear()

    def _flush_in_time(self) -> None:
        """For a model that pauses after a word. A failure, such as a lost lease, is raised in the run."""
        with self._lock:
            try:
                self._flush()
            except Exception as error:  # noqa: BLE001  raised again at the next event
                self._failure = error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


class BranchSink:
    """Shows those who watch a run what one of its branches does: its tool calls, with its number, and how
    it ended. The rest is of no interest there."""

    def __init__(self, inner: EventSink, number: int) -> None:
        self._inner = inner
        self._number = number

    def emit(self, event: RunEvent) -> None:
        match event:
            case ToolCallStart() | ToolCallEnd() | ToolCallError():
                # ids of calls are unique only within a conversation
                named = f"{self._number}-{event.tool_call_id}"
                marks = {"branch": self._number, "tool_call_id": named}
                self._inner.emit(event.model_copy(update=marks))
            case BranchFinished():
                self._inner.emit(event)
            case _:
                pass


class ParentHistory:
    """Stores events in the history of the exploration that a branch is a part of."""

    def __init__(self, log: EventLog, parent: ExplorationId) -> None:
        self._log = log
        self._parent = parent

    def emit(self, event: RunEvent) -> None:
        if isinstance(event, ToolCallStart | ToolCallEnd | ToolCallError | BranchFinished):
            self._log.append(self._parent, None, event)


def sinks_of(exploration: Exploration, deps: Deps) -> list[EventSink]:
    """The sinks of an exploration; of a branch, the history of its parent too."""
    sinks, branch = list(deps.sinks_for(exploration)), exploration.branch_of
    if branch is None:
        return sinks
    return [*sinks, BranchSink(ParentHistory(deps.events, branch.parent), branch.number)]


def describe_branch_end(ended: Exploration) -> list[AnyEvent]:
    """Told before the end is stored: so it may be told twice, but is never lost."""
    branch, run = ended.branch_of, ended.run
    if branch is None:
        return []
    return [
        BranchFinished(
            branch=branch.number,
            status=ended.status,
            cost=run.stats.cost_usd,
            error=run.receipt.message if run.receipt else None,
        )
    ]


class FanOutSink:
    def __init__(self, sinks: Sequence[EventSink]) -> None:
        self._sinks = sinks

    def emit(self, event: RunEvent) -> None:
        for sink in self._sinks:
            sink.emit(event)


class RecordingSink:
    """Stores the events of a run, text in groups, and forwards them to the other sinks."""

    def __init__(self, exploration: Exploration, sinks: Sequence[EventSink], deps: Deps) -> None:
        self._explorations = deps.explorations
        history = History(deps.events, exploration)
        self._history = GroupedText(history, deps.clock, deps.text_seconds)
        self._others = FanOutSink(sinks)

    def emit(self, event: RunEvent) -> None:
        self._history.emit(event)
        self._others.emit(event)

    def save(self, exploration: Exploration, *events: AnyEvent) -> None:
        """Store the record and its events, both or neither."""
        self._history.flush()
        self._explorations.save(exploration, events)
        self.forward(*events)

    def forward(self, *events: AnyEvent) -> None:
        """Send events that are stored already to the other sinks."""
        for event in events:
            self._others.emit(event)


def save_end(
    before: Exploration,
    ended: Exploration,
    deps: Deps,
    failure: ErrorEvent | None = None,
) -> None:
    """Store the end of a run under its lease, then emit it; raises LeaseLostError."""
    events, sinks = end_events(before, ended, failure), sinks_of(ended, deps)
    for event in describe_branch_end(ended):
        FanOutSink(sinks).emit(event)
    deps.explorations.save(ended, events)
    emit_end(ended, events, sinks)


def end_events(
    before: Exploration, ended: Exploration, failure: ErrorEvent | None = None
) -> list[AnyEvent]:
    changed = StatusChanged(from_=before.status, to=ended.status)
    return [failure, changed] if failure else [changed]


def emit_end(ended: Exploration, events: Sequence[AnyEvent], sinks: Iterable[EventSink]) -> None:
    """Emit the end of a run that is stored already: the sinks log and count it."""
    for sink in sinks:
        for event in (*events, RunFinished(exploration=ended)):
            sink.emit(event)
