"""Wait for the next events of an exploration."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import FINAL
from idea_explorer.ports import NumberedEvent
from idea_explorer.usecases.deps import Deps

MAX_EVENTS = 1_000
PAUSED_WAIT_SECONDS = 1.0
# When to ask again. A call that is held occupies an execution of the API, and a new account has ten of
# them, so a deployment answers at once and the pauses are the client's.
BUSY_SECONDS = 1.0  # something came, so more is likely
QUIET_SECONDS = 2.0  # it runs: nobody should see an event much later than this
IDLE_SECONDS = 5.0  # it has waited for long, in the queue, for a person or for a service
IDLE_SHARE = 0.25  # of the time that it has waited so far
MIN_PAUSE_SECONDS = 0.1  # where the call itself waits, the pause only groups events
MAX_CHARACTERS = 2_000_000  # Lambda's answers end at 6 MB, and a character may take three bytes
LOOK_SECONDS = (
    0.5  # how often to read the record of a run without events, which takes longer than that
)
# a worker that dies between the last status and its event leaves no last event to wait for
SETTLED = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class News:
    """`over`: no events will follow unless somebody resumes it. `waits_for`: what the run waits for, in a
    sentence, where there are no events because of that. `needs_person`: it waits for a decision. `is_idle`:
    it waits, for a decision, a service or a slot. `retry_seconds`: when to ask again."""

    events: Sequence[NumberedEvent]
    over: bool = False
    waits_for: str | None = None
    needs_person: bool = False
    is_idle: bool = False
    retry_seconds: float = MIN_PAUSE_SECONDS


def follow(exploration_id: ExplorationId, after: int, deps: Deps, *, wait_seconds: float) -> News:
    """The events after a number: at once if there are any, else the next one, or none within the time.

    While the run is paused the answer comes after a second: soon, but not at once, because the client
    asks again.
    """
    clock = deps.clock
    began = clock.monotonic()
    look_at = 0.0
    while True:
        if found := deps.events.read(exploration_id, after=after, limit=MAX_EVENTS):
            events = list(_take_fitting(found))
            pause = MIN_PAUSE_SECONDS if _ends(events[-1]) else BUSY_SECONDS
            return News(events, retry_seconds=_shorten(pause, wait_seconds))
        waited = clock.monotonic() - began
        if waited >= min(look_at, wait_seconds):
            look_at = waited + LOOK_SECONDS
            exploration = deps.explorations.load(exploration_id)
            if _is_over(exploration, after, deps):
                return News([], over=True)
            waits_for = exploration.waits_for(clock.now())
            if waited >= wait_seconds or (waits_for and waited >= PAUSED_WAIT_SECONDS):
                is_idle = exploration.status != "running" or waits_for is not None
                pause = _pause_while_idle(exploration, clock.now()) if is_idle else QUIET_SECONDS
                return News(
                    [],
                    waits_for=waits_for,
                    needs_person=exploration.status == "awaiting_approval",
                    is_idle=is_idle,
                    retry_seconds=_shorten(pause, wait_seconds),
                )
        clock.sleep(min(deps.events_poll_seconds, wait_seconds - waited))


def _pause_while_idle(exploration: Exploration, now: datetime) -> float:
    """The longer it has waited, the longer it may still wait."""
    waited = (now - exploration.updated_at).total_seconds()
    return min(max(BUSY_SECONDS, waited * IDLE_SHARE), IDLE_SECONDS)


def _shorten(pause: float, wait_seconds: float) -> float:
    """The pause that is left to the client where the call itself waits for events."""
    return max(MIN_PAUSE_SECONDS, pause - wait_seconds)


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
