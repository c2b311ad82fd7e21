"""Wait for the next events of an exploration."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import FINAL
from idea_explorer.ports import NumberedEvent
from idea_explorer.usecases.deps import Deps

MAX_EVENTS = 1_000
PAUSED_WAIT_SECONDS = 1.0
MAX_CHARACTERS = 2_000_000  # Lambda's answers end at 6 MB, and a character may take three bytes
# a worker that dies between the last status and its event leaves no last event to wait for
SETTLED = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class News:
    """`over`: no events will follow unless somebody resumes it. `waits_for`: what the run waits for, in a
    sentence, where there are no events because of that."""

    events: Sequence[NumberedEvent]
    over: bool = False
    waits_for: str | None = None


def follow(exploration_id: ExplorationId, after: int, deps: Deps, *, wait_seconds: float) -> News:
    """The events after a number: at once if there are any, else the next one, or none within the time.

    While the run is paused the answer comes after a second: soon, but not at once, because the client
    asks again.
    """
    clock = deps.clock
    began = clock.monotonic()
    while True:
        if found := deps.events.read(exploration_id, after=after, limit=MAX_EVENTS):
            return News(list(_take_fitting(found)))
        exploration = deps.explorations.load(exploration_id)
        if _is_over(exploration, after, deps):
            return News([], over=True)
        waited = clock.monotonic() - began
        waits_for = exploration.waits_for(clock.now())
        if waited >= wait_seconds or (waits_for and waited >= PAUSED_WAIT_SECONDS):
            return News([], waits_for=waits_for)
        clock.sleep(min(deps.events_poll_seconds, wait_seconds - waited))


def _take_fitting(found: Sequence[NumberedEvent]) -> Iterator[NumberedEvent]:
    """As many as fit into one answer, and at least one."""
    room = MAX_CHARACTERS
    for event in found:
        if room < MAX_CHARACTERS and len(event.data) > room:
            return
        room -= len(event.data)
        yield event


def _is_over(exploration: Exploration, after: int, deps: Deps) -> bool:
    last = deps.events.read(exploration.id, after=after - 1, limit=1) if after else []
    if after and not last:
        raise InvalidRequestError(
            "'Last-Event-ID': there is no such event",
            fields={"Last-Event-ID": "there is no such event"},
        )
    if not exploration.is_final:
        return False
    age = deps.clock.now() - exploration.updated_at
    return any(_ends(event) for event in last) or age > SETTLED


def _ends(event: NumberedEvent) -> bool:
    return event.type == "status_changed" and json.loads(event.data).get("to") in FINAL
