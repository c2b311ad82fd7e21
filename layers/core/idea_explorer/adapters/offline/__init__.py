"""The offline model: deterministic, calls the real tools, and says plainly that no model was called.

It makes a first run possible without a key, and it serves as a test double. It runs the toolset's script
and answers in Claude's format.
"""

from collections.abc import Callable

from idea_explorer.adapters.offline.conversation import Conversation, Turn
from idea_explorer.adapters.offline.research import research
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.json import Block, dump_canonical
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher

CHARS_PER_TOKEN = 4  # a rough estimate of what a real run would have read and written

# A tool that only one toolset has tells which script to run.
SCRIPTS = {
    "file_search": "answer_question",
    "semanticSearch": "discover",
    "find_definition": "explain_code",
}


class OfflineModel:
    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        conversation = Conversation(request)
        script = _choose_script(conversation)
        turn = script(conversation)
        if request.writing and turn.calls:
            conversation.tools.clear()  # the last turn, without the calls it would have made first
            turn = script(conversation)
        content = _content(turn, conversation.steps)
        for piece in turn.text.splitlines(keepends=True):
            watcher.tick()
            watcher.text(piece)
        return ModelAnswer(
            content=content,
            stop_reason="tool_use" if turn.calls else "end_turn",
            usage=_usage(request, content),
        )


def _choose_script(conversation: Conversation) -> Callable[[Conversation], Turn]:
    name = next((SCRIPTS[tool] for tool in SCRIPTS if tool in conversation.tools), None)
    if name is None:
        return research
    from idea_explorer.adapters.offline import scripts

    script: Callable[[Conversation], Turn] = getattr(scripts, name)
    return script


def _content(turn: Turn, step: int) -> list[Block]:
    text: list[Block] = [{"type": "text", "text": turn.text}] if turn.text else []
    calls: list[Block] = [
        {
            "type": "tool_use",
            "id": f"toolu_offline_{step}_{index}",
            "name": call.name,
            "input": call.input,
        }
        for index, call in enumerate(turn.calls)
    ]
    return [*text, *calls]


def _usage(request: ModelRequest, content: list[Block]) -> Usage:
    read = sum(
        len(dump_canonical(part)) for part in (*request.system, *request.tools, *request.messages)
    )
    wrote = sum(len(dump_canonical(block)) for block in content)
    return Usage(input_tokens=read // CHARS_PER_TOKEN, output_tokens=wrote // CHARS_PER_TOKEN)
