"""What a run without branches says about the questions of its plan while it works."""

from collections.abc import Iterator
from dataclasses import replace

from idea_explorer.agent.plans import accepted_plan
from idea_explorer.domain.events import RunEvent, ToolCallEnd, ToolCallStart
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.questions import Questions
from idea_explorer.ports import EventSink, Transcript


class QuestionSink:
    """Adds to each tool call the question of the plan that it looks into: by its words, or because it opens a
    page or a document that a call for that question has found."""

    def __init__(self, inner: EventSink, transcript: Transcript) -> None:
        self._inner = inner
        self._transcript = transcript
        self._questions: Questions | None = None
        self._asked: dict[str, int] = {}  # by the id of the call
        self._found: dict[str, int] = {}  # by the place

    def emit(self, event: RunEvent) -> None:
        if isinstance(event, ToolCallStart):
            question = self._find(event.input)
            if question:
                self._asked[event.tool_call_id] = question
            event = replace(event, question=question)
        elif isinstance(event, ToolCallEnd) and (number := self._asked.get(event.tool_call_id)):
            for place in _list_places(event.output):
                self._found.setdefault(place, number)
        self._inner.emit(event)

    def _find(self, given: JsonObject) -> int | None:
        if self._questions is None and (plan := accepted_plan(self._transcript.entries)):
            self._questions = Questions(plan)
        if self._questions is None:
            return None
        opened = (self._found[place] for place in _read_places(given) if place in self._found)
        return self._questions.find(given) or next(opened, None)


def _list_places(output: JsonObject | None) -> Iterator[str]:
    results = (output or {}).get("results")
    for hit in results if isinstance(results, list) else []:
        if isinstance(hit, dict):
            yield from _read_places(hit)


def _read_places(given: JsonObject) -> Iterator[str]:
    for name in ("url", "path"):
        if isinstance(place := given.get(name), str):
            yield place
