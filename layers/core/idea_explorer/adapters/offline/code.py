"""The offline script for code: list the files, find the names in the question, say where they are."""

import re

from idea_explorer.adapters.offline.conversation import NOTICE, Conversation, Result, ToolUse, Turn
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.text import one_line

NAMES = 3
SHOWN = 8
# Words that look like names in code: an inner capital, an underscore, or a capital after the first word.
_NAME = re.compile(
    r"\b(?:[A-Za-z]+[A-Z][A-Za-z0-9]*|[a-z0-9]+_[a-z0-9_]+|(?<=\s)[A-Z][a-z0-9]{2,})\b"
)


def code(conversation: Conversation) -> Turn:
    if conversation.results or "list_files" not in conversation.tools:
        return Turn(_answer(conversation))
    calls = [ToolUse("list_files", {"path": "."})]
    for name in dict.fromkeys(_NAME.findall(conversation.idea)):
        calls.append(ToolUse("find_definition", {"symbol": name}))
        calls.append(ToolUse("find_importers", {"modulePath": name}))
    if words := conversation.words[:NAMES]:
        pattern = "(?i)" + "|".join(re.escape(word) for word in words)
        calls.append(ToolUse("search_files", {"pattern": pattern}))
    return Turn("Looking around.", tuple(calls[: 2 + 2 * NAMES]))


def _answer(conversation: Conversation) -> str:
    parts = [f"# {one_line(conversation.idea, 100)}", NOTICE]
    parts += [
        f"## {_heading(result)}\n\n" + "\n".join(lines)
        for result in conversation.results
        if (lines := _lines(result))
    ]
    parts += [
        f"{result.name} failed: {text_of(result.payload.get('message'))}"
        for result in conversation.failed()
    ]
    if len(parts) == 2:
        parts.append("Nothing in the repository is about this.")
    return "\n\n".join(parts)


def _heading(result: Result) -> str:
    asked = next((text_of(value) for value in result.input.values()), "")
    return {
        "list_files": "The top folder",
        "find_definition": f"Where `{asked}` is defined",
        "find_importers": f"Who imports `{asked}`",
        "search_files": "Lines that mention it",
    }.get(result.name, result.name)


def _lines(result: Result) -> list[str]:
    found = next((value for value in result.payload.values() if isinstance(value, list)), [])
    items = [item for item in found if isinstance(item, dict)]
    return [_line(item) for item in items[:SHOWN]]


def _line(item: JsonObject) -> str:
    where = text_of(item.get("file")) or text_of(item.get("path"))
    number = f":{item['line']}" if item.get("line") else ""
    what = next(
        (text_of(item.get(k)) for k in ("signature", "statement", "text") if item.get(k)), ""
    )
    return f"- `{where}{number}`" + (f" {one_line(what, 100)}" if what else "")
