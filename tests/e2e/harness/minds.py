"""A model that follows the script of the idea it is asked about, and has a plain answer to all others."""

import threading

from tests.fakes.anthropic_scripts import ByConversation, Entry, Model
from tests.fakes.anthropic_turns import Turn, answer, text
from tests.fakes.anthropic_wire import JsonObject
from tests.fakes.reports import business

REPORT = business("A report", verdict="STRONG YES")


class Minds:
    """Scripts go by conversation, so a call that is repeated after a crash gets its answer again."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}
        self._plain: Model = ByConversation([answer(text(REPORT))], repeat_last=True)
        self._lock = threading.Lock()
        self.calls: dict[str, int] = {}

    def about(self, idea: str, *script: Entry, model: Model | None = None) -> None:
        self._models[idea] = model or ByConversation(script, repeat_last=True)

    def __call__(self, request: JsonObject, index: int) -> Turn:
        asked = str(request["messages"][0]["content"])
        idea = next((idea for idea in self._models if idea in asked), "")
        with self._lock:
            self.calls[idea] = self.calls.get(idea, 0) + 1
        return self._models.get(idea, self._plain)(request, index)
