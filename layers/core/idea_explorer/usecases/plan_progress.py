"""What a run without branches says about the questions of its plan while it works."""

from idea_explorer.agent.plans import accepted_plan
from idea_explorer.domain.events import RunEvent, ToolCallStart
from idea_explorer.domain.questions import Questions
from idea_explorer.ports import EventSink, Transcript


class QuestionSink:
    """Adds to each tool call the question of the plan that it looks into."""

    def __init__(self, inner: EventSink, transcript: Transcript) -> None:
        self._inner = inner
        self._transcript = transcript
        self._questions: Questions | None = None

    def emit(self, event: RunEvent) -> None:
        if isinstance(event, ToolCallStart):
            event = event.model_copy(update={"question": self._find(event)})
        self._inner.emit(event)

    def _find(self, event: ToolCallStart) -> int | None:
        if self._questions is None and (plan := accepted_plan(self._transcript.entries)):
            self._questions = Questions(plan)
        return self._questions.find(event.input) if self._questions else None
