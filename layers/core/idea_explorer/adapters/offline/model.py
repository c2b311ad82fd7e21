"""The offline model: runs the toolset's script and answers in Claude's format."""

from collections.abc import Callable

from idea_explorer.adapters.offline.assistant import assistant
from idea_explorer.adapters.offline.code import code
from idea_explorer.adapters.offline.conversation import Conversation, ToolUse, Turn
from idea_explorer.adapters.offline.discover import discover
from idea_explorer.adapters.offline.research import research
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.exploration import OFFLINE
from idea_explorer.domain.json import Block, JsonObject, dump_canonical
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher

MODEL_ID = OFFLINE
CHARS_PER_TOKEN = 4  # a rough estimate of what a real run would have read and written

# A tool that only one toolset has tells which script to run.
SCRIPTS: dict[str, Callable[[Conversation], Turn]] = {
    "file_search": assistant,
    "semanticSearch": discover,
    "find_definition": code,
}


class OfflineModel:
    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        conversation = Conversation(request)
        script = next((SCRIPTS[name] for name in SCRIPTS if name in conversation.tools), research)
        turn = script(conversation)
        if request.writing and turn.calls:
            turn = _write_now(script, conversation)
        content = _content(turn, conversation.steps)
        for piece in turn.text.splitlines(keepends=True):
            watcher.tick()
            watcher.text(piece)
        return ModelAnswer(
            content=content,
            stop_reason="tool_use" if turn.calls else "end_turn",
            usage=_usage(request, content),
        )


def _write_now(script: Callable[[Conversation], Turn], conversation: Conversation) -> Turn:
    """The script's last turn, without the tool calls it would have made first."""
    conversation.tools.clear()
    return script(conversation)


def _content(turn: Turn, step: int) -> list[Block]:
    text: list[Block] = [{"type": "text", "text": turn.text}] if turn.text else []
    calls: list[Block] = [_tool_use(call, step, index) for index, call in enumerate(turn.calls)]
    return [*text, *calls]


def _tool_use(call: ToolUse, step: int, index: int) -> Block:
    given: JsonObject = call.input
    return {
        "type": "tool_use",
        "id": f"toolu_offline_{step}_{index}",
        "name": call.name,
        "input": given,
    }


def _usage(request: ModelRequest, content: list[Block]) -> Usage:
    read = sum(
        len(dump_canonical(part)) for part in (*request.system, *request.tools, *request.messages)
    )
    wrote = sum(len(dump_canonical(block)) for block in content)
    return Usage(input_tokens=read // CHARS_PER_TOKEN, output_tokens=wrote // CHARS_PER_TOKEN)
