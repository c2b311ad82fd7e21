"""Rules that the DynamoDB and SQLite stores share: how records sort, page, restore and fit."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from idea_explorer.domain.errors import (
    InvalidRequestError,
    LeaseLostError,
    MissingError,
    NoFreeSlotError,
    UnavailableError,
    UnreadableRecordError,
)
from idea_explorer.domain.event_json import dump_event
from idea_explorer.domain.events import AnyEvent, ToolCallEnd
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import is_id
from idea_explorer.domain.json import JsonObject, dump_json, json_size
from idea_explorer.domain.request import STORED
from idea_explorer.domain.run import Status
from idea_explorer.ports.stores import RecordChange

MAX_EVENT_BYTES = 300_000  # a DynamoDB item holds at most 400 KB, and its keys need some of that
MAX_OUTPUT_BYTES = 4_000  # of a tool's output in an event: enough to show what it found
SHORT_FORMS = ((1_000, 100), (300, 50), (100, 20))  # characters of a text and items of a list
TRUNCATED = " … [cut]"
Stored = TypeVar("Stored")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def format_sortable(moment: datetime) -> str:
    """Format a moment so that the text sorts chronologically."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def list_position(exploration: Exploration) -> str:
    """The sort key in the owner's list: time first, then id, because not every id carries a time. A branch
    has none: lists show only the exploration that it is a part of."""
    if exploration.branch_of:
        return ""
    return f"{format_sortable(exploration.created_at)}#{exploration.id}"


def encode_cursor(position: str) -> str:
    """An opaque cursor to whatever follows a position."""
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """Raises InvalidRequestError for a cursor that `encode_cursor` did not make."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
        time, _, exploration_id = position.partition("#")
        if _TIME.fullmatch(time) and is_id(exploration_id):
            return position
    except ValueError:
        pass
    raise InvalidRequestError("'cursor': not one of ours", fields={"cursor": "not one of ours"})


def restore_exploration(record: str | bytes, lease: int, cancel_requested: bool) -> Exploration:
    """Lease and cancel request are stored beside the record, because they change without it."""
    try:
        exploration = Exploration.model_validate_json(record, context=STORED)
    except ValidationError as error:
        places = [".".join(map(str, problem["loc"])) for problem in error.errors()]
        raise UnreadableRecordError(places) from error
    return exploration.replace(lease=lease, cancel_requested=cancel_requested)


def restore_readable(
    stored: Iterable[Stored], restore: Callable[[Stored], Exploration]
) -> Iterator[Exploration]:
    """Those that this version can read: another, with a toolset of its own, may have stored the rest."""
    for one in stored:
        with suppress(UnreadableRecordError):
            yield restore(one)


def restore_page(
    stored: Iterable[Stored], restore: Callable[[Stored], Exploration]
) -> tuple[list[Exploration], int]:
    """Those that this version can read, and the number of the others."""
    everything = [*stored]
    readable = [*restore_readable(everything, restore)]
    return readable, len(everything) - len(readable)


def may_explore(record: str | bytes) -> bool:
    """Also if this version cannot read the record: the one that stored it may be at work."""
    try:
        return restore_exploration(record, lease=0, cancel_requested=False).is_exploring
    except UnreadableRecordError:
        return True


def change_and_lease(before: Exploration, change: RecordChange) -> Exploration:
    return change(before).replace(lease=before.lease + 1)


def select_unchanged(
    found: Iterable[Exploration], status: Status, moment: datetime
) -> list[Exploration]:
    """Those still in the status and not updated since the moment, oldest first."""
    unchanged = [e for e in found if e.status == status and e.updated_at < moment]
    return sorted(unchanged, key=lambda e: e.updated_at)


def select_overdue(found: Iterable[Exploration], moment: datetime) -> list[Exploration]:
    """Those whose webhook was due before the moment, the longest overdue first."""
    due = [(e.delivery_due, e) for e in found]
    overdue = [(at, e) for at, e in due if at is not None and at < moment]
    return [e for _, e in sorted(overdue, key=lambda pair: pair[0])]


def lease_lost(exploration_id: str) -> LeaseLostError:
    return LeaseLostError(f"Another worker has taken over exploration {exploration_id}.")


def too_many_writers(exploration_id: str) -> UnavailableError:
    return UnavailableError(
        f"Exploration {exploration_id} has too many writers.", hint="Try again."
    )


def no_free_slot(exploration_id: str) -> NoFreeSlotError:
    return NoFreeSlotError(f"Exploration {exploration_id} has to wait: no slot is free.")


def no_such_exploration(exploration_id: str) -> MissingError:
    return MissingError(f"There is no exploration {exploration_id}.")


def no_report(exploration_id: str) -> MissingError:
    return MissingError(f"Exploration {exploration_id} has no report.")


def no_such_approval(approval_id: str) -> MissingError:
    return MissingError(f"No approval {approval_id} was requested.")


def dump_stored_event(event: AnyEvent) -> str:
    """The event as JSON. What is too large is cut and marked: the output of a tool, which the transcript has
    in full, and any field of an event that would not fit into an item."""
    data = _dump_call_end(event) if isinstance(event, ToolCallEnd) else dump_event(event)
    limit = MAX_EVENT_BYTES // 2
    while _size(data) > MAX_EVENT_BYTES:
        fields: dict[str, JsonValue] = json.loads(dump_event(event))
        data = _to_json({name: _truncate(value, limit) for name, value in fields.items()})
        limit //= 2
    return data


def _dump_call_end(event: ToolCallEnd) -> str:
    # a document that was read is not written out only to be measured
    data = "" if event.output and _is_long(event.output) else dump_event(event)
    if event.output and (not data or _size(data) > MAX_OUTPUT_BYTES):
        return dump_event(replace(event, output=_shorten_output(event.output)))
    return data


def _is_long(output: JsonObject) -> bool:
    """Whether one of its texts alone is too large."""
    return any(isinstance(part, str) and len(part) > MAX_OUTPUT_BYTES for part in output.values())


def _shorten_output(output: JsonObject) -> JsonObject:
    """The same fields with shorter texts and lists, or an excerpt if there are too many of them."""
    size = json_size(output)
    for characters, items in SHORT_FORMS:
        short = {name: _shorten(value, characters, items) for name, value in output.items()}
        if json_size(short) <= MAX_OUTPUT_BYTES:
            return {**short, "truncated": True, "bytes": size}
    excerpt = _truncate(output, MAX_OUTPUT_BYTES)
    assert isinstance(excerpt, dict)
    return excerpt


def _shorten(value: JsonValue, characters: int, items: int) -> JsonValue:
    match value:
        case str():
            return value if len(value) <= characters else value[:characters] + TRUNCATED
        case list():
            return [_shorten(item, characters, items) for item in value[:items]]
        case dict():
            return {name: _shorten(item, characters, items) for name, item in value.items()}
        case _:
            return value


def _truncate(value: JsonValue, limit: int) -> JsonValue:
    text = value if isinstance(value, str) else _to_json(value)
    if _size(text) <= limit:
        return value
    excerpt = text.encode()[:limit].decode(errors="ignore") + TRUNCATED
    if isinstance(value, str):
        return excerpt
    return {"truncated": True, "bytes": _size(text), "excerpt": excerpt}


def _to_json(value: JsonValue) -> str:
    return dump_json(value).decode()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
