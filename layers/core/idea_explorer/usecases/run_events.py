"""Where the events of a run go: into its history, and to the sinks that log, count and show them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from idea_explorer.domain.alarms import ALARMS, Alarm
from idea_explorer.domain.errors import ExplorerError, ExternalError
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
    from idea_explorer.ports import EventLog, EventSink, Transcript


class History:
    """Adds the events of a run to its transcript, which stores them in one transaction with its entries.

    Where an answer broke off after some of it was stored, the next one begins with `message_start`
    again: clients then drop what came after the last `step_finished`.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
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
        self._transcript.add_event(event)


class Flusher:
    """Stores what a run has added to its transcript, at most so many seconds after `schedule`: nobody should
    wait for what they follow while a tool works or a model pauses. What the run itself stores meanwhile
    is not waited for."""

    def __init__(self, transcript: Transcript, seconds: float) -> None:
        self._transcript = transcript
        self._seconds = seconds
        self._alarm: Alarm | None = None
        self._write: int | None = None  # that will store what was scheduled
        self._since = 0.0  # when the first of it was
        self._is_closed = False
        self._failure: Exception | None = None
        self._lock = threading.Lock()

    def schedule(self) -> None:
        """Raises what an earlier flush has failed with, such as LeaseLostError. A store that cannot be
        reached is no failure: it is tried again."""
        if self._failure is not None:
            raise self._failure
        if (write := self._transcript.unsaved) != self._write:
            self._write, self._since = write, time.monotonic()
        if self._alarm is None:  # else it stores this too
            self._set_alarm()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            alarm, self._alarm = self._alarm, None
            if alarm is not None:
                alarm.cancel()

    def _set_alarm(self) -> None:
        with self._lock:
            if self._alarm is None and not self._is_closed:
                self._alarm = ALARMS.call_later(self._seconds, self._ring, self._time_left)

    def _time_left(self) -> float | None:
        """Until what was scheduled has to be stored; None if it is, and the next `schedule` sets an alarm."""
        with self._lock:
            alarm, self._alarm = self._alarm, None  # first, so that nobody relies on it meanwhile
            if (write := self._transcript.unsaved) is None:
                return None
            self._alarm = alarm
            return self._since + self._seconds - time.monotonic() if write == self._write else 0.0

    def _ring(self) -> None:
        with self._lock:
            self._alarm = None
            if self._is_closed:
                return
        try:
            self._transcript.flush()
        except ExternalError:
            self._set_alarm()
        except Exception as error:  # noqa: BLE001  raised in the run, at its next event
            self._failure = error


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
                self._inner.emit(replace(event, branch=self._number, tool_call_id=named))
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


def emit_all(events: Iterable[AnyEvent], sink: EventSink) -> None:
    for event in events:
        sink.emit(event)


class FanOutSink:
    def __init__(self, sinks: Sequence[EventSink]) -> None:
        self._sinks = sinks

    def emit(self, event: RunEvent) -> None:
        for sink in self._sinks:
            sink.emit(event)


class RecordingSink:
    """Stores the events of a run and its record with its transcript; forwards events to the other sinks."""

    def __init__(self, transcript: Transcript, sinks: Sequence[EventSink], deps: Deps) -> None:
        self._transcript = transcript
        self._history = History(transcript)
        self._flusher = Flusher(transcript, deps.text_seconds)
        self._others = FanOutSink(sinks)

    def emit(self, event: RunEvent) -> None:
        self._history.emit(event)
        self._flusher.schedule()
        self._others.emit(event)

    def save(self, exploration: Exploration, *events: AnyEvent) -> None:
        """Store the record and its events, with everything that was added before; all or nothing."""
        for event in events:
            self._transcript.add_event(event)
        self._transcript.set_record(exploration)
        self._transcript.flush()
        emit_all(events, self._others)

    def save_soon(self, exploration: Exploration) -> None:
        """Store the record with the next entry or event, and before anything acts on it."""
        self._transcript.set_record(exploration)
        self._flusher.schedule()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Store what is left. A run that fails for another reason fails for that."""
        self._flusher.close()
        if kind is None:
            self._transcript.flush()
        elif issubclass(kind, Exception):
            with suppress(ExplorerError):
                self._transcript.flush()


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
