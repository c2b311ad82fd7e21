"""Wait for news of an exploration, as long as there can be any."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import FINAL
from idea_explorer.ports import EventLog, Explorations, NumberedEvent

MAX_EVENTS = 1_000
MOMENT_SECONDS = 1.0
MAX_CHARACTERS = 2_000_000  # Lambda's answers end at 6 MB, and a character may take three bytes
# a worker that dies between the last status and its event leaves no last event to wait for
SETTLED = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class News:
    """`over` where nothing will follow what the asker has seen, as long as nobody resumes it; `waits_for`
    where nothing is new because the run waits, and for what."""

    events: Sequence[NumberedEvent]
    over: bool = False
    waits_for: str | None = None


def follow(
    exploration_id: ExplorationId,
    after: int,
    *,
    explorations: Explorations,
    events: EventLog,
    clock: Clock,
    wait_seconds: float,
    poll_seconds: float,
) -> News:
    """Events after a number: at once if there are any, else as soon as there is one, or none in time.

    Whoever asks while the run waits is told so after a moment; not at once, because they ask again.
    """
    began = clock.monotonic()
    while True:
        if found := events.read(exploration_id, after=after, limit=MAX_EVENTS):
            return News(list(_fitting(found)))
        exploration = explorations.load(exploration_id)
        if _is_over(exploration, after, events, clock):
            return News([], over=True)
        waited = clock.monotonic() - began
        waits_for = exploration.waits_for(clock.now())
        if waited >= wait_seconds or (waits_for and waited >= MOMENT_SECONDS):
            return News([], waits_for=waits_for)
        clock.sleep(min(poll_seconds, wait_seconds - waited))


def _fitting(found: Sequence[NumberedEvent]) -> Iterator[NumberedEvent]:
    """As many as one answer holds, and at least one."""
    room = MAX_CHARACTERS
    for event in found:
        if room < MAX_CHARACTERS and len(event.data) > room:
            return
        room -= len(event.data)
        yield event


def _is_over(exploration: Exploration, after: int, events: EventLog, clock: Clock) -> bool:
    last = events.read(exploration.id, after=after - 1, limit=1) if after else []
    if after and not last:
        raise InvalidRequestError(
            "'Last-Event-ID': there is no such event",
            fields={"Last-Event-ID": "there is no such event"},
        )
    if not exploration.is_final:
        return False
    return any(_ends(event) for event in last) or clock.now() - exploration.updated_at > SETTLED


def _ends(event: NumberedEvent) -> bool:
    return event.type == "status_changed" and json.loads(event.data).get("to") in FINAL
