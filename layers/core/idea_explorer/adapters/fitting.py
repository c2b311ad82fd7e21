"""Events that fit their store. The transcript keeps everything; the live view may do with less."""

import json

from pydantic import JsonValue

from idea_explorer.domain.events import AnyEvent, dump_event

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
