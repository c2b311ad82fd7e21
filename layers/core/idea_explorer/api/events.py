"""The live view: numbered events as server-sent events, in a stream or by polling.

`idea serve` holds the connection open and sends each event when it happens, until the run has ended or waits
for a person: that may take days, and a browser opens six connections to a server, for all its tabs. API
Gateway buffers a Lambda response until it is complete, so there a response carries the events since
Last-Event-ID and ends with `retry`, the pause before the next call. A client that sends the last id it saw
gets every event exactly once, in either way.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from idea_explorer.api.http import ApiCall, ApiResponse, RequestError
from idea_explorer.api.views import EventList, EventView
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_readable
from idea_explorer.usecases.follow import News, follow

MARGIN_SECONDS = 3.0  # left of the function's time for sending the response
KEEP_ALIVE_SECONDS = (
    15.0  # proxies close a connection that is silent for a minute, some for half of that
)
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
    streams = call.streams and deps.events_wait_seconds > 0
    news = (
        follow(exploration.id, after, deps, wait_seconds=0.0)
        if streams
        else _follow(call, exploration.id, after, deps)
    )
    if news.over:
        return ApiResponse(204)
    body = _stream(exploration.id, after, news, deps, render) if streams else render(news)
    headers = UNBUFFERED if streams else {}
    return ApiResponse(200, body, content_type=EVENT_STREAM, headers=headers)


def _follow(call: ApiCall, exploration_id: ExplorationId, after: int, deps: Deps) -> News:
    wait_seconds = min(deps.events_wait_seconds, call.seconds_left - MARGIN_SECONDS)
    return follow(exploration_id, after, deps, wait_seconds=wait_seconds)


def _stream(
    exploration_id: ExplorationId, after: int, news: News, deps: Deps, render: Render
) -> Iterator[str]:
    """The news, and then all others as they come, until the run has ended or, with `_render`, waits for a
    person. A run that begins or ceases to wait is news too."""
    clock = deps.clock
    last, waits_for, sent = after, None, -math.inf
    wait_seconds = min(deps.events_wait_seconds, KEEP_ALIVE_SECONDS)
    while not news.over:
        is_news = news.events or news.waits_for != waits_for or news.needs_person
        if is_news or clock.monotonic() - sent >= KEEP_ALIVE_SECONDS:
            yield render(news)
            sent = clock.monotonic()
        if news.needs_person and render is _render:  # others cannot tell it from the end of the run
            return
        waits_for = news.waits_for
        last = news.events[-1].number if news.events else last
        if waits_for:
            clock.sleep(news.retry_seconds)
        is_turn = any(event.type == "status_changed" for event in news.events)
        news = follow(exploration_id, last, deps, wait_seconds=0.0 if is_turn else wait_seconds)


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
