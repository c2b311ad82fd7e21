"""Messages that are built while the transcript grows are those that are built from all of it."""

import pytest

from idea_explorer.domain import turns
from idea_explorer.domain.json import JsonObject, json_size
from idea_explorer.domain.tools import ToolRecord
from idea_explorer.domain.transcript import (
    AnyEntry,
    ApprovalsDecided,
    ConversationRestarted,
    Instruction,
    ModelCallFinished,
    Opening,
    StoredResult,
    ToolsRan,
)
from idea_explorer.domain.turns import Conversation, build_messages
from idea_explorer.domain.usage import Usage


def _answer(*content: JsonObject, stop: str = "tool_use") -> ModelCallFinished:
    return ModelCallFinished(
        step=1, content=[*content], stop_reason=stop, usage=Usage(), duration_ms=1
    )


def _call(name: str) -> JsonObject:
    return {"type": "tool_use", "id": name, "name": "read_research", "input": {"path": "ü.md"}}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _result(name: str) -> StoredResult:
    record = ToolRecord(name="read_research", duration_ms=1, ok=True)
    return StoredResult(
        call_id=name, name="read_research", input={}, payload={"ok": True, "content": "Tee für zwei\n"},
        sha256="0", record=record,
    )  # fmt: skip


SYSTEM: list[JsonObject] = [_text("You research.")]
TOOLS: list[JsonObject] = [{"name": "read_research", "description": "Liest für dich."}]
ENTRIES: list[AnyEntry] = [
    Opening(
        model_id="m", system=[*SYSTEM], tools=[*TOOLS], content=[_text("Tea")], new_effort="low"
    ),
    _answer(_text("I read."), _call("a"), _call("b")),
    ToolsRan(step=1, results=(_result("b"), _result("a"))),
    _answer(_text("Searching"), stop="pause_turn"),
    _answer(_text("on."), _call("c"), _call("d")),
    ToolsRan(step=2, results=(_result("c"),)),
    ApprovalsDecided(step=2, results=(_result("d"),)),
    _answer(_text("Half"), _call("e")),
    Instruction(purpose="write", reason="deadline", effort="low", text="Write now."),
    ConversationRestarted(reason="context_window", content=[_text("From the start")]),
    _answer(_text("The report."), stop="end_turn"),
]


def test_every_step_of_a_conversation_has_the_messages_of_the_whole() -> None:
    conversation = Conversation()
    for count in range(1, len(ENTRIES) + 1):
        grown = conversation.follow(ENTRIES[:count])
        assert [*grown.turns] == build_messages(ENTRIES[:count])
        assert grown.size == sum(map(json_size, grown.turns))
        assert grown.fixed_size == json_size([*SYSTEM]) + json_size([*TOOLS])


def test_what_was_handed_out_stays_as_it_was() -> None:
    conversation = Conversation()
    first = conversation.follow(ENTRIES[:3])
    before = repr(first)
    conversation.follow(ENTRIES)
    assert repr(first) == before


def test_a_turn_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[JsonObject] = []

    def measure(turn: JsonObject) -> int:
        measured.append(turn)
        return json_size(turn)

    monkeypatch.setattr(turns, "json_size", measure)
    conversation = Conversation()
    for count in range(1, 5):
        conversation.follow(ENTRIES[:count])
    # system prompt, tools, the user's turn, the change of effort, two answers and a result: each once
    assert len(measured) == 7


def test_a_pause_in_a_turn_that_was_dropped_is_forgotten() -> None:
    conversation = Conversation()
    entries: list[AnyEntry] = [
        ENTRIES[0],
        _answer(_text("\n"), stop="pause_turn"),
        _answer(_call("a")),
        Instruction(purpose="write", reason="deadline", text="Write now."),
    ]
    for count in range(1, len(entries) + 1):
        grown = conversation.follow(entries[:count])
    assert grown.paused_at is None or grown.paused_at[0] < len(grown.turns)
