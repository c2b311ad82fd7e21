"""Models that answer from a script, in process: for tests of the loop itself."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.json import Block, JsonObject, document_text, text_of
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher

Reply = ModelAnswer | Exception
A_CALL = Usage(input_tokens=100, output_tokens=10)
NOTHING = Usage()


def says(text: str, stop_reason: str = "end_turn", usage: Usage = A_CALL) -> ModelAnswer:
    return ModelAnswer([{"type": "text", "text": text}], stop_reason, usage)


def calls(*wanted: tuple[str, JsonObject], usage: Usage = A_CALL, text: str = "") -> ModelAnswer:
    said: list[Block] = [{"type": "text", "text": text}] if text else []
    uses: list[Block] = [
        {"type": "tool_use", "id": f"call_{name}_{index}", "name": name, "input": given}
        for index, (name, given) in enumerate(wanted)
    ]
    return ModelAnswer([*said, *uses], "tool_use", usage)


def raw(*content: Block, stop_reason: str, detail: str = "") -> ModelAnswer:
    return ModelAnswer(list(content), stop_reason, A_CALL, detail)


def batch_of(request: ModelRequest) -> list[JsonObject]:
    """The sentences that a request asks to verify."""
    sentences = json.loads(next(text for text in last_texts(request) if text.startswith("[")))
    assert isinstance(sentences, list)
    return sentences


def judged(
    request: ModelRequest, verdict: str = "supported", usage: Usage = NOTHING, quote: str = ""
) -> ModelAnswer:
    """The same verdict on every sentence, with the same words of a passage if there are any."""
    quoted = {"quote": quote} if quote else {}
    given = [
        {"number": entry["number"], "verdict": verdict, "reason": f"It is {verdict}.", **quoted}
        for entry in batch_of(request)
    ]
    return says(json.dumps({"verdicts": given}), usage=usage)


@dataclass
class ScriptedModel:
    """Gives its replies in order, the last one again and again; a function decides for itself."""

    script: list[Reply] | Callable[[ModelRequest, int], Reply]
    requests: list[ModelRequest] = field(default_factory=list)
    judge: Callable[[ModelRequest], Reply] = lambda request: judged(request)
    verifications: list[ModelRequest] = field(default_factory=list)

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        if request.schema is not None:
            self.verifications.append(request)
            watcher.tick()
            verdicts = self.judge(request)
            if isinstance(verdicts, Exception):
                raise verdicts
            return verdicts
        self.requests.append(request)
        number = len(self.requests) - 1
        if callable(self.script):
            reply = self.script(request, number)
        else:
            reply = self.script[min(number, len(self.script) - 1)]
        if isinstance(reply, Exception):
            raise reply
        watcher.usage(Usage(input_tokens=reply.usage.input_tokens))
        for block in reply.content:
            watcher.tick()
            if block.get("type") == "text":
                watcher.text(str(block["text"]))
            watcher.block(block)
        watcher.usage(reply.usage)
        return reply

    @property
    def writing(self) -> list[bool]:
        """Of each request, whether the report was asked for."""
        return [request.writing for request in self.requests]

    @property
    def tools_off(self) -> list[bool]:
        return [request.tools_off for request in self.requests]


def _last_words(request: ModelRequest) -> list[Block]:
    """The blocks of the last message of ours; a change of effort after it has none."""
    ours = [message for message in request.messages if message["role"] == "user"]
    content = ours[-1]["content"]
    assert isinstance(content, list)
    return [block for block in content if isinstance(block, dict)]


def last_texts(request: ModelRequest) -> list[str]:
    """The texts of the last message, and of the documents that are attached to it."""
    texts = (text_of(b.get("text")) or document_text(b) for b in _last_words(request))
    return [text for text in texts if text]


def tool_results(request: ModelRequest) -> list[Block]:
    """The tool results of the last message."""
    return [b for b in _last_words(request) if b.get("type") == "tool_result"]


def scripted(replies: Iterable[Reply]) -> ScriptedModel:
    return ScriptedModel(list(replies))
