"""Which question of its plan a run without branches works on."""

from pathlib import Path

import pytest

from idea_explorer.domain.events import RunEvent, ToolCallEnd, ToolCallStart
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolRecord
from idea_explorer.domain.transcript import Opening, StoredResult, ToolsRan
from idea_explorer.usecases.plan_progress import QuestionSink
from tests.fakes.api import Api

PLAN: JsonObject = {
    "sub_questions": [
        {"question": "Who pays for tea?", "tool": "web_search", "why": "The market."},
        {"question": "What do rents in Leeds cost?", "tool": "web_search", "why": "The costs."},
    ]
}
PAGE = "https://homes.example/42"
RECORD = ToolRecord(name="write_plan", duration_ms=1, ok=True)


class Recorded:
    def __init__(self) -> None:
        self.events: list[RunEvent] = []

    def emit(self, event: RunEvent) -> None:
        self.events.append(event)


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


@pytest.fixture
def sink(tmp_path: Path, recorded: Recorded) -> QuestionSink:
    api = Api(tmp_path)
    exploration = api.run_to(api.submitted("ada"), "running")
    transcript = api.store.open(exploration.id, exploration.lease)
    transcript.append(Opening(model_id="a-model", system=[], tools=[], content=[]))
    planned = StoredResult(
        call_id="call-0", name="write_plan", input=PLAN, payload={}, sha256="a", record=RECORD
    )
    transcript.append(ToolsRan(step=1, results=(planned,)))
    return QuestionSink(recorded, transcript)


def call(sink: QuestionSink, number: int, given: JsonObject, output: JsonObject) -> None:
    call_id = f"call-{number}"
    sink.emit(ToolCallStart(tool_call_id=call_id, tool_name="a_tool", input=given))
    sink.emit(ToolCallEnd(tool_call_id=call_id, summary="", output=output, record=RECORD))


def questions(recorded: Recorded) -> list[int | None]:
    return [event.question for event in recorded.events if isinstance(event, ToolCallStart)]


def test_a_page_is_opened_for_the_question_whose_search_has_found_it(
    sink: QuestionSink, recorded: Recorded
) -> None:
    found: JsonObject = {"results": [{"url": PAGE}, {"path": "ideas/a.md"}, "no place", None]}
    call(sink, 1, {"query": "rents Leeds"}, found)
    call(sink, 2, {"url": PAGE}, {"url": PAGE})
    call(sink, 3, {"path": "ideas/a.md"}, {})
    call(sink, 4, {"url": "https://other.example"}, {})

    assert questions(recorded) == [2, 2, 2, None]


def test_what_a_call_without_a_question_has_found_belongs_to_none(
    sink: QuestionSink, recorded: Recorded
) -> None:
    call(sink, 1, {"query": "submarine cables"}, {"results": [{"url": PAGE}]})
    call(sink, 2, {"url": PAGE}, {})

    assert questions(recorded) == [None, None]


def test_the_words_of_a_call_say_more_than_where_its_page_was_found(
    sink: QuestionSink, recorded: Recorded
) -> None:
    page = "https://tea.example/who-pays-for-tea"
    call(sink, 1, {"query": "rents Leeds"}, {"results": [{"url": page}]})
    call(sink, 2, {"url": page}, {})

    assert questions(recorded) == [2, 1]
