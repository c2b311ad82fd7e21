"""Give a run its final status: the record and the events that tell of it, both or neither."""

from collections.abc import Iterable, Sequence

from idea_explorer.domain.events import AnyEvent, Failed, RunFinished, StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import EventSink, Explorations


def close_run(
    before: Exploration,
    ended: Exploration,
    *,
    explorations: Explorations,
    sinks: Iterable[EventSink],
    failure: Failed | None = None,
) -> None:
    """Store the end under the lease, then tell whoever else listens; raises LeaseLostError."""
    events = events_of_end(before, ended, failure)
    explorations.save(ended, events)
    announce_end(ended, events, sinks)


def events_of_end(
    before: Exploration, ended: Exploration, failure: Failed | None = None
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
