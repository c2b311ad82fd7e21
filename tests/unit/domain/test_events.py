"""Events as they are sent: what their schema says, what is refused, and what docs/events.md describes."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from idea_explorer.domain.event_json import dump_event, event_schemas, parse_event, sent_fields
from idea_explorer.domain.events import (
    AnyEvent,
    BranchFinished,
    EventUsage,
    StatusChanged,
    StepFinished,
    ToolCallEnd,
)
from idea_explorer.domain.tools import ToolRecord

PAGE = Path(__file__).parents[3] / "docs" / "events.md"
USAGE = EventUsage(input_tokens=1, output_tokens=2, cache_read_tokens=0, cache_write_tokens=0)
ZEROS = json.dumps(dict.fromkeys(sent_fields(USAGE), 0))
SCHEMAS: dict[str, Any] = event_schemas("#/$defs/{model}")
SENT: list[AnyEvent] = [
    StepFinished(step=1, usage=USAGE, cost=None, stop_reason="end_turn", blocks=[{"type": "text"}]),
    StepFinished(step=1, usage=USAGE, cost=0.25, duration_ms=10),
    ToolCallEnd(
        tool_call_id="t", summary="Read", record=ToolRecord(name="read", duration_ms=1, ok=True)
    ),
    BranchFinished(branch=1, status="failed", cost=None, error="No."),
    StatusChanged(from_="queued", to="running"),
]


@pytest.mark.parametrize("event", SENT, ids=lambda event: event.type)
def test_what_is_sent_keeps_to_the_schema_and_is_read_back(event: AnyEvent) -> None:
    sent = dump_event(event)
    schema = {"$defs": SCHEMAS, **SCHEMAS["Event"]}
    assert list(Draft202012Validator(schema).iter_errors(json.loads(sent))) == []
    assert dump_event(parse_event(sent)) == sent


@pytest.mark.parametrize(
    "data",
    [
        '{"type": "status_changed", "from": "queued", "to": "dancing"}',
        '{"type": "message_end", "usage": {"inputTokens": -1, "outputTokens": 0,'
        ' "cacheReadTokens": 0, "cacheWriteTokens": 0}}',
        '{"type": "text_delta", "content": 7}',
        '{"type": "tool_call_end", "toolCallId": "t"}',
        *(
            f'{{"type": "step_finished", "usage": {ZEROS}, {values}}}'
            for values in (
                '"step": -1',
                '"step": 1, "cost": -0.5',
                '"step": 1, "cost": NaN',
                '"step": 1, "cost": Infinity',
                '"step": 1, "durationMs": -1',
            )
        ),
        '{"type": "branch_started", "branch": -1, "question": "Why?"}',
        '{"type": "branch_finished", "branch": 1, "status": "failed", "cost": -1}',
        '{"type": "tool_call_start", "toolCallId": "t", "toolName": "n", "input": {}, "branch": -1}',
        '{"type": "tool_call_end", "toolCallId": "t", "summary": "s", "durationMs": -1}',
        '{"type": "tool_call_end", "toolCallId": "t", "summary": "s", "resultCount": -1}',
        '{"type": "unheard_of"}',
        "[]",
        "7",
    ],
)
def test_a_value_that_no_event_has_is_refused(data: str) -> None:
    with pytest.raises(ValidationError):
        parse_event(data)


def test_the_page_describes_every_type_with_its_fields() -> None:
    described = {}
    for line in PAGE.read_text("utf-8").splitlines():
        if found := re.match(r"\| `(\w+)` \| (.*?) \|", line):
            described[found[1]] = dict(re.findall(r"`(\w+)`(\??)", found[2]))
    members = get_args(get_args(AnyEvent)[0])
    expected = {}
    for member in members:
        schema = SCHEMAS[member.__name__]
        fields = {name for name in schema["properties"] if name != "type"}
        null = {name for name in fields if '"null"' in json.dumps(schema["properties"][name])}
        expected[schema["properties"]["type"]["const"]] = {
            name: "?" if name in null else "" for name in fields
        }
    assert described == expected
