"""The live view: numbered events as server-sent events, in a stream or by polling.

`idea serve` holds the connection open and sends each event when it happens, until the run has ended or waits
for a person: that may take days, and a browser opens six connections to a server, for all its tabs. In a
deployment an open stream occupies an execution, so it ends after a minute or when the run has to wait, and
there are only so many (`Deps.stream_slots`). Without a stream, a response carries the events since
Last-Event-ID and ends with `retry`, the pause before the next call. A client that sends the last id it saw
gets every event exactly once, in either way.
"""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from idea_explorer.api.http import ApiCall, ApiResponse, RequestError
from idea_explorer.api.views import EventList, EventView
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import StreamSlots
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_readable
from idea_explorer.usecases.follow import News, follow

MARGIN_SECONDS = 3.0  # left of the function's time for sending the response
KEEP_ALIVE_SECONDS = (
    15.0  # proxies close a connection that is silent for a minute, some for half of that
)
# of a stream in a deployment: Lambda is not told that a client has gone, and works on for nobody
STREAM_SECONDS = 60.0
EVENT_STREAM = "text/event-stream; charset=utf-8"
UNBUFFERED = {"X-Accel-Buffering": "no"}  # for reverse proxies, which would collect events
MAX_NUMBER = 999_999_999  # of an event
_NUMBER = re.compile(r"[0-9]{1,9}")
Render: TypeAlias = Callable[[News], str]


class EventsQuery(DomainModel):
    """`data` leaves out everything but the data of events, for clients that read nothing else. `after` is for
    clients that cannot send Last-Event-ID, which counts if both are given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["data"] | None = None
    after: Annotated[int, Field(ge=0, le=MAX_NUMBER)] = 0


def show_events(call: ApiCall, deps: Deps) -> ApiResponse:
    query = call.parse_query(EventsQuery)
    exploration = find_readable(call.path["exploration_id"], call.owner, deps)
    after = _parse_last_event_id(call, query.after)
    if _wants_json(call):
        return ApiResponse(200, _build_list(_follow(call, exploration.id, after, deps), after))
    render = _render_data if query.format == "data" else _render
    can_stream = call.streams and (deps.stream_slots is not None or deps.events_wait_seconds > 0)
    news = (
        follow(exploration.id, after, deps, wait_seconds=0.0)
        if can_stream
        else _follow(call, exploration.id, after, deps)
    )
    if news.over:
        return ApiResponse(204)
    stream = _open_stream(call, exploration.id, news, render, deps) if can_stream else None
    if stream is None:
        return ApiResponse(200, render(news), content_type=EVENT_STREAM)
    parts = stream.send(news, after)
    return ApiResponse(200, parts, content_type=EVENT_STREAM, headers=UNBUFFERED)


def _follow(call: ApiCall, exploration_id: ExplorationId, after: int, deps: Deps) -> News:
    wait_seconds = min(deps.events_wait_seconds, call.seconds_left - MARGIN_SECONDS)
    return follow(exploration_id, after, deps, wait_seconds=wait_seconds)


def _open_stream(
    call: ApiCall, exploration_id: ExplorationId, news: News, render: Render, deps: Deps
) -> "_Stream | None":
    """None in a deployment where no slot is free, or the run waits: that takes no execution."""
    slots = deps.stream_slots
    if slots is None:
        wait_seconds = min(deps.events_wait_seconds, KEEP_ALIVE_SECONDS)
        return _Stream(exploration_id, render, deps, wait_seconds)
    seconds = min(STREAM_SECONDS, call.seconds_left - MARGIN_SECONDS)
    slot = None if news.is_idle else slots.take(seconds=seconds + MARGIN_SECONDS)
    if slot is None:
        return None
    return _LimitedStream(
        exploration_id, render, deps, KEEP_ALIVE_SECONDS, seconds=seconds, slot=slot, slots=slots
    )


@dataclass(frozen=True)
class _Stream:
    """Follows a run until it has ended or, with `_render`, waits for a person."""

    exploration_id: ExplorationId
    render: Render
    deps: Deps
    wait_seconds: float

    def send(self, news: News, after: int) -> Iterator[str]:
        """The news, and then all others as they come. A run that begins or ceases to wait is news too."""
        return self._follow(news, after, math.inf)

    def _follow(self, news: News, after: int, seconds: float) -> Iterator[str]:
        clock = self.deps.clock
        last, waits_for, sent = after, None, -math.inf
        until = clock.monotonic() + seconds
        while not news.over:
            is_news = news.events or news.waits_for != waits_for or news.needs_person
            if is_news or clock.monotonic() - sent >= KEEP_ALIVE_SECONDS:
                yield self.render(news)
                sent = clock.monotonic()
            left = until - clock.monotonic()
            if left <= 0 or self._ends_with(news):
                return
            waits_for = news.waits_for
            last = news.events[-1].number if news.events else last
            if waits_for:
                clock.sleep(news.retry_seconds)
            is_turn = any(event.type == "status_changed" for event in news.events)
            wait_seconds = 0.0 if is_turn else min(self.wait_seconds, left)
            news = follow(self.exploration_id, last, self.deps, wait_seconds=wait_seconds)

    def _ends_with(self, news: News) -> bool:
        # those who get nothing but data cannot tell it from the end of the run
        return news.needs_person and self.render is _render


@dataclass(frozen=True, kw_only=True)
class _LimitedStream(_Stream):
    """Ends after `seconds` too, and when the run has to wait."""

    seconds: float
    slot: str
    slots: StreamSlots

    def send(self, news: News, after: int) -> Iterator[str]:
        try:
            yield from self._follow(news, after, self.seconds)
        finally:
            with suppress(ExternalError):  # the slot is free again when its time is over
                self.slots.release(self.slot)

    def _ends_with(self, news: News) -> bool:
        return news.is_idle or super()._ends_with(news)


def _parse_last_event_id(call: ApiCall, otherwise: int) -> int:
    given = call.header("last-event-id") or str(otherwise)
    if not _NUMBER.fullmatch(given):
        rule = "must be an event number"
        raise RequestError(422, f"'Last-Event-ID': {rule}", {"Last-Event-ID": rule})
    return int(given)


def _wants_json(call: ApiCall) -> bool:
    accepted = call.header("accept").lower()
    return "application/json" in accepted and "text/event-stream" not in accepted


def _render(news: News) -> str:
    """Data fits on one line because JSON escapes line breaks. The comment, what the run waits for, is only
    for people to read."""
    frames = [f"id: {e.number}\nevent: {e.type}\ndata: {e.data}\n\n" for e in news.events]
    comment = f": {news.waits_for}\n\n" if news.waits_for else ""
    return f"{''.join(frames)}{comment}retry: {_retry_ms(news)}\n\n"


def _render_data(news: News) -> str:
    """A blank line keeps a silent connection open, and is no frame: simple clients know no comments."""
    return "".join(f"data: {event.data}\n\n" for event in news.events) or "\n"


def _retry_ms(news: News) -> int:
    return round(news.retry_seconds * 1_000)


def _build_list(news: News, after: int) -> EventList:
    last = news.events[-1].number if news.events else after
    events = [
        EventView.model_validate_json(f'{{"id": {e.number}, "data": {e.data}}}')
        for e in news.events
    ]
    return EventList(events=events, last_event_id=last, over=news.over, retry_ms=_retry_ms(news))
