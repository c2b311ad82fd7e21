"""Events as JSON: how they are sent and stored, read again and described."""

import json
from dataclasses import fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from idea_explorer.domain.events import UNSENT, AnyEvent, StreamEvent, sent_name
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.plan import Plan, SubQuestion
from idea_explorer.domain.tools import ToolRecord


@cache  # slow to build, and most functions only write single events
def _adapter() -> TypeAdapter[AnyEvent]:
    for model in (Plan, SubQuestion):
        model.model_rebuild()  # what is read can be written again; read as a part, it is not built
    return TypeAdapter(AnyEvent)


def parse_event(data: str) -> AnyEvent:
    """Parse an event as it was sent; raises ValidationError for an unknown type or a value that no event
    has. Fields that are never sent are empty."""
    event = json.loads(data)
    if isinstance(event, dict) and event.get("type") in {"tool_call_end", "tool_call_error"}:
        event["record"] = ToolRecord(
            name="", duration_ms=event.get("durationMs", 0), ok=event["type"] == "tool_call_end"
        )
    return _adapter().validate_python(event)


def event_schemas(ref_template: str) -> JsonObject:
    """JSON Schemas of the events as they are sent, by name; `Event` is any of them."""
    event = _adapter().json_schema(mode="serialization", ref_template=ref_template)
    schemas: dict[str, JsonObject] = {**event.pop("$defs"), "Event": event}
    for schema in schemas.values():
        sent, required = schema.get("properties"), schema.get("required")
        if isinstance(sent, dict) and "type" in sent and isinstance(required, list):
            schema["required"] = ["type", *required]  # it has a default, and is always sent
    return {**schemas}


def dump_event(event: AnyEvent) -> str:
    """The event as the live view sends it, without optional fields that are None."""
    return to_json(sent_fields(event), exclude_none=True, inf_nan_mode="null").decode()


def sent_fields(event: StreamEvent) -> dict[str, object]:
    """The fields that have a value, by the names that the live view has for them."""
    kind: Any = type(event)
    found = ((sent, getattr(event, name)) for name, sent in _sent_names(kind))
    return {
        sent: sent_fields(value) if isinstance(value, StreamEvent) else value
        for sent, value in found
        if value is not None
    }


@cache
def _sent_names(kind: Any) -> tuple[tuple[str, str], ...]:
    return tuple(
        (field.name, sent_name(field.name))
        for field in fields(kind)
        if UNSENT not in getattr(field.type, "__metadata__", ())
    )
