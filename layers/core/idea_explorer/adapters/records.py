"""Where an exploration stands in its owner's list: by time, then by id, since not all ids carry time."""

import base64
import binascii
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime

from pydantic import JsonValue

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.events import AnyEvent, dump_event
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import is_id

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def sortable(moment: datetime) -> str:
    """A moment as text that sorts as time does."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def position_of(exploration: Exploration) -> str:
    return f"{sortable(exploration.created_at)}#{exploration.id}"


def by_due(found: Iterable[Exploration], moment: datetime) -> list[Exploration]:
    """Those whose message was due before a moment, the longest overdue first."""
    due = [(e.delivery_due, e) for e in found]
    overdue = [(at, e) for at, e in due if at is not None and at < moment]
    return [e for _, e in sorted(overdue, key=lambda pair: pair[0])]


def cursor_at(position: str) -> str:
    """The cursor to what comes after a position. Opaque to callers."""
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def position_in(cursor: str) -> str:
    """The position that a cursor names; raises InvalidRequestError unless it is one of ours."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except (ValueError, binascii.Error) as error:
        raise _foreign() from error
    time, _, exploration_id = position.partition("#")
    if not _TIME.fullmatch(time) or not is_id(exploration_id):
        raise _foreign()
    return position


def _foreign() -> InvalidRequestError:
    return InvalidRequestError("'cursor': not one of ours", fields={"cursor": "not one of ours"})


MAX_EVENT_BYTES = 300_000  # DynamoDB's items end at 400 KB; keys and names need little
CUT = " … [cut]"


def fitting(event: AnyEvent) -> str:
    """The event as JSON; where it is too large, its large fields are cut and say so."""
    data = dump_event(event)
    keep = MAX_EVENT_BYTES // 2
    while _size(data) > MAX_EVENT_BYTES:
        fields: dict[str, JsonValue] = json.loads(dump_event(event))
        data = _spelled({name: _cut(value, keep) for name, value in fields.items()})
        keep //= 2
    return data


def _cut(value: JsonValue, keep: int) -> JsonValue:
    spelled = value if isinstance(value, str) else _spelled(value)
    if _size(spelled) <= keep:
        return value
    excerpt = spelled.encode()[:keep].decode(errors="ignore")
    if isinstance(value, str):
        return excerpt + CUT
    return {"truncated": True, "bytes": _size(spelled), "excerpt": excerpt + CUT}


def _spelled(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _size(text: str) -> int:
    return len(text.encode())
