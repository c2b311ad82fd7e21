"""The live view: numbered events as server-sent events, by polling.

API Gateway buffers a Lambda response until it is complete, so a response carries the events since
Last-Event-ID and ends with `retry`, the pause before the next call. `idea serve` waits for an event if
there are none; a deployment answers at once. A client that sends the last id it saw gets every event
exactly once.
"""

import re

from idea_explorer.api.http import ApiCall, ApiResponse, RequestError
from idea_explorer.api.views import EventList, EventView
from idea_explorer.ports import NumberedEvent
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_readable
from idea_explorer.usecases.follow import News, follow

MARGIN_SECONDS = 3.0  # left of the function's time for sending the response
EVENT_STREAM = "text/event-stream; charset=utf-8"
_NUMBER = re.compile(r"[0-9]{1,9}")


def show_events(call: ApiCall, deps: Deps) -> ApiResponse:
    exploration = find_readable(call.path["exploration_id"], call.owner, deps)
    after = _parse_last_event_id(call)
    news = follow(
        exploration.id,
        after,
        deps,
        wait_seconds=min(deps.events_wait_seconds, call.seconds_left - MARGIN_SECONDS),
    )
    if _wants_json(call):
        return ApiResponse(200, _build_list(news, after))
    if news.over:
        return ApiResponse(204)
    stream = "".join(_format_event(event) for event in news.events) + _format_comment(news)
    return ApiResponse(200, f"{stream}retry: {_retry_ms(news)}\n\n", content_type=EVENT_STREAM)


def _parse_last_event_id(call: ApiCall) -> int:
    given = call.header("last-event-id") or "0"
    if not _NUMBER.fullmatch(given):
        rule = "must be an event number"
        raise RequestError(422, f"'Last-Event-ID': {rule}", {"Last-Event-ID": rule})
    return int(given)


def _wants_json(call: ApiCall) -> bool:
    accepted = call.header("accept").lower()
    return "application/json" in accepted and "text/event-stream" not in accepted


def _format_event(event: NumberedEvent) -> str:
    """`data` fits on one line because JSON escapes line breaks."""
    return f"id: {event.number}\nevent: {event.type}\ndata: {event.data}\n\n"


def _format_comment(news: News) -> str:
    """What the run is waiting for. Clients ignore comments, so this is only for people to read."""
    return f": {news.waits_for}\n\n" if news.waits_for else ""


def _retry_ms(news: News) -> int:
    return round(news.retry_seconds * 1_000)


def _build_list(news: News, after: int) -> EventList:
    last = news.events[-1].number if news.events else after
    events = [
        EventView.model_validate_json(f'{{"id": {e.number}, "data": {e.data}}}')
        for e in news.events
    ]
    return EventList(events=events, last_event_id=last, over=news.over, retry_ms=_retry_ms(news))
