"""The live view: numbered events as server-sent events, in answers that end.

API Gateway hands a Lambda answer on when it is whole, so each answer holds what is new since
Last-Event-ID, or waits for it, and ends with the time after which to ask again. A client that asks
again with the last id it saw misses nothing and sees nothing twice.
"""

import re

from idea_explorer.api.answer import Answer
from idea_explorer.api.call import Call
from idea_explorer.api.errors import RequestError
from idea_explorer.api.views import Event, Events
from idea_explorer.ports import NumberedEvent
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find
from idea_explorer.usecases.follow import News, follow

RETRY_MS = 500
MARGIN_SECONDS = 3.0  # of the function's time, kept for answering
EVENT_STREAM = "text/event-stream; charset=utf-8"
_NUMBER = re.compile(r"[0-9]{1,9}")


def show_events(call: Call, deps: Deps) -> Answer:
    exploration = find(call.path["exploration_id"], call.owner, deps)
    after = _last_event_id(call)
    news = follow(
        exploration.id,
        after,
        deps,
        wait_seconds=min(deps.events_wait_seconds, call.seconds_left - MARGIN_SECONDS),
    )
    if _wants_json(call):
        return Answer(200, _as_json(news, after))
    if news.over:
        return Answer(204)
    stream = "".join(_frame(event) for event in news.events) + _comment(news)
    return Answer(200, f"{stream}retry: {RETRY_MS}\n\n", content_type=EVENT_STREAM)


def _last_event_id(call: Call) -> int:
    given = call.header("last-event-id") or "0"
    if not _NUMBER.fullmatch(given):
        rule = "must be the number of an event"
        raise RequestError(422, f"'Last-Event-ID': {rule}", {"Last-Event-ID": rule})
    return int(given)


def _wants_json(call: Call) -> bool:
    accepted = call.header("accept").lower()
    return "application/json" in accepted and "text/event-stream" not in accepted


def _frame(event: NumberedEvent) -> str:
    """`data` is one line: it is JSON, in which line ends are escaped."""
    return f"id: {event.number}\nevent: {event.type}\ndata: {event.data}\n\n"


def _comment(news: News) -> str:
    """What the run waits for, to be read by people: a comment is no event to any client."""
    return f": {news.waits_for}\n\n" if news.waits_for else ""


def _as_json(news: News, after: int) -> Events:
    last = news.events[-1].number if news.events else after
    events = [
        Event.model_validate_json(f'{{"id": {e.number}, "data": {e.data}}}') for e in news.events
    ]
    return Events(events=events, last_event_id=last, over=news.over)
