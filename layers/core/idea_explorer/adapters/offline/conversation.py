"""What the offline model reads in a request: the idea, the tools and their results so far.

If a question continues an earlier exploration, only the question and what follows it are read.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from idea_explorer.domain.json import Block, JsonObject, document_text, text_of
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.ports import ModelRequest

NOTICE = (
    "> **Offline run.** No model was called: this text was put together by rules from the idea and"
    " from the material named below. With `ANTHROPIC_API_KEY` set, Claude does the work."
)


@dataclass(frozen=True, slots=True)
class ToolUse:
    name: str
    input: JsonObject


@dataclass(frozen=True, slots=True)
class Turn:
    text: str = ""
    calls: tuple[ToolUse, ...] = field(default=())


_WORD = lazy_pattern(r"[^\W\d_]{3,}", re.UNICODE)
_COMMON = frozenset(
    """
    all and any are but can did for get had has how its may not our out own see the too use was way
    who why you about after also because been before being between both could does each from have help into
    just like make many more most much need only other over please same should some such than that
    their them then there these they this those through under very want what when where which while
    with within without would your
    """.split()
)


@dataclass(frozen=True, slots=True)
class Result:
    """A tool call and its result."""

    name: str
    input: JsonObject
    payload: JsonObject

    @property
    def ok(self) -> bool:
        return self.payload.get("ok") is True


class Conversation:
    def __init__(self, request: ModelRequest) -> None:
        self.tools = {text_of(tool.get("name")) for tool in request.tools}
        self.system = "\n".join(text_of(block.get("text")) for block in request.system)
        blocks = [
            (message["role"], block)
            for message in request.messages
            if isinstance(content := message["content"], list)
            for block in content
            if isinstance(block, dict)
        ]
        asked = [
            number
            for number, (role, block) in enumerate(blocks)
            if role == "user" and _find_idea(text_of(block.get("text"))) is not None
        ]
        start = asked[-1] if asked else 0
        self._blocks = [block for _, block in blocks[start:]]
        self.first = text_of(self._blocks[0].get("text"))
        found = _find_idea(self.first)
        self.idea = (self.first if found is None else found).strip()
        # the first one: that of an update; the others are of similar ideas
        self.document = next(filter(None, map(document_text, self._blocks)), "")
        self.steps = sum(1 for message in request.messages if message["role"] == "assistant")

    @property
    def documents(self) -> list[tuple[str, str]]:
        """The title and the text of each."""
        return [
            (text_of(block.get("title")), text)
            for block in self._blocks
            if (text := document_text(block))
        ]

    @property
    def words(self) -> list[str]:
        """The distinctive words of the idea, in order."""
        words = (word.lower() for word in _WORD.findall(self.idea))
        return list(dict.fromkeys(word for word in words if word not in _COMMON))

    @property
    def results(self) -> list[Result]:
        calls: dict[str, Block] = {}
        results: list[Result] = []
        for block in self._blocks:
            if block.get("type") == "tool_use":
                calls[text_of(block.get("id"))] = block
            elif block.get("type") == "tool_result":
                call = calls[text_of(block.get("tool_use_id"))]
                given = call.get("input")
                results.append(
                    Result(
                        name=text_of(call.get("name")),
                        input=given if isinstance(given, dict) else {},
                        payload=_read_payload(block.get("content")),
                    )
                )
        return results

    def answered(self, name: str) -> list[Result]:
        """The successful results of one tool."""
        return [result for result in self.results if result.name == name and result.ok]

    def failed(self) -> list[Result]:
        return [result for result in self.results if not result.ok]


def _read_payload(content: Any) -> JsonObject:
    """A result as our tools give it. A run that Claude began may have it as `search_result` blocks."""
    if not isinstance(content, list):
        payload: JsonObject = json.loads(text_of(content))
        return payload
    found: list[JsonObject] = []
    for block in content:
        source, title = text_of(block.get("source")), text_of(block.get("title"))
        text = "".join(text_of(piece.get("text")) for piece in block["content"])
        shown: JsonObject = {"path": source, "file": source, "url": source, "title": title}
        found.append({**shown, "excerpt": text, "text": text, "content": text})
    return {"ok": True, "results": [*found], **found[0]}


def _find_idea(text: str) -> str | None:
    _, opened, rest = text.partition("<idea>\n")
    idea, closed, _ = rest.partition("\n</idea>")
    return idea if opened and closed else None
