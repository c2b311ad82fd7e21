"""The offline script for a change to code, so that approvals can be tried without a key.

It understands two sentences: `Replace "old" with "new" in notes.md`, and
`Create notes.md with "text"`, also several of them. Every place that has the old text is changed.
"""

import re

from idea_explorer.adapters.offline.conversation import NOTICE, Conversation, Result, ToolUse, Turn
from idea_explorer.domain.approvals import describe_approval
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import escape_markdown, one_line

_QUOTED = r"[\"“'`]([^\"“”'`\n]{1,500})[\"”'`]"
_PATH = r"[`'\"]?([\w./-]{1,200}\w)[`'\"]?"
_S = r"\s{1,9}"
_REPLACE = lazy_pattern(
    rf"\breplace{_S}{_QUOTED}{_S}(?:with|by){_S}{_QUOTED}{_S}in{_S}{_PATH}", re.IGNORECASE
)
_CREATE = lazy_pattern(rf"\bcreate{_S}{_PATH}{_S}with{_S}{_QUOTED}", re.IGNORECASE)
TOOLS = ("edit_file", "create_file")
AGAIN = (
    "The offline model takes the words as they are. Look at the file, then ask again using words that it"
    " contains:"
    ' `idea explore --toolset code \'Replace "words in the file" with "other words" in FILE\'`'
)


def propose_change(conversation: Conversation) -> Turn | None:
    """The changes that the idea asks for, or what became of them; None where it asks for none. A file is
    read before it is edited."""
    decided = [result for result in conversation.results if result.name in TOOLS]
    if decided:
        return Turn(_describe(conversation, decided))
    edits = _find_edits(conversation.idea) if "edit_file" in conversation.tools else {}
    creates = "create_file" in conversation.tools
    created: dict[str, str] = dict(_CREATE.findall(conversation.idea)) if creates else {}
    if not (edits or created) or any(result.name != "read_file" for result in conversation.results):
        return None
    if edits and not conversation.results and "read_file" in conversation.tools:
        reads = tuple(ToolUse("read_file", {"path": path}) for path in edits)
        return Turn("Reading what is to be changed.", reads)
    lines = {
        text_of(result.input.get("path")): _read_lines(result)
        for result in conversation.answered("read_file")
    }
    description = one_line(conversation.idea, 200)
    edited = [
        _edit(path, wanted, lines.get(path, []), description) for path, wanted in edits.items()
    ]
    new = [
        ToolUse("create_file", {"path": path, "content": f"{text}\n", "description": description})
        for path, text in created.items()
    ]
    return Turn("Proposing the change.", (*edited, *new))


def _find_edits(idea: str) -> dict[str, dict[str, str]]:
    """What is to be replaced by what, by file."""
    edits: dict[str, dict[str, str]] = {}
    for old, new, path in _REPLACE.findall(idea):
        edits.setdefault(path, {})[old] = new
    return edits


def _edit(path: str, wanted: dict[str, str], lines: list[str], description: str) -> ToolUse:
    everywhere = _replace_everywhere(wanted, lines)
    one_by_one: list[JsonObject] = [{"old": old, "new": new} for old, new in wanted.items()]
    return ToolUse(
        "edit_file",
        {"path": path, "replacements": [*(everywhere or one_by_one)], "description": description},
    )


def _replace_everywhere(wanted: dict[str, str], lines: list[str]) -> list[JsonObject]:
    """One replacement, from the first line that changes to the last: it has all the places, so it is in
    the file exactly once, which edit_file asks for. Empty where one of them is not in the file: edit_file
    then says so."""
    if not all(any(old in line for line in lines) for old in wanted):
        return []
    found = re.compile("|".join(map(re.escape, wanted)))
    after = [found.sub(lambda match: wanted[match[0]], line) for line in lines]
    changed = [number for number, line in enumerate(lines) if line != after[number]]
    if not changed:
        return []
    first, last = changed[0], changed[-1] + 1
    return [{"old": "\n".join(lines[first:last]), "new": "\n".join(after[first:last])}]


def _read_lines(result: Result) -> list[str]:
    """The lines of a file without their numbers; none of a file that is longer than was read."""
    if result.payload.get("truncated"):
        return []
    return [line.partition("\t")[2] for line in text_of(result.payload.get("content")).split("\n")]


def _describe(conversation: Conversation, decided: list[Result]) -> str:
    lines = [f"- {_describe_result(result)}" for result in decided]
    title = escape_markdown(one_line(conversation.idea, 100))
    parts = [f"# {title}", NOTICE, "## What became of it", "\n".join(lines)]
    if any(result.payload.get("error_type") == "invalid_arguments" for result in decided):
        parts.append(AGAIN)
    return "\n\n".join(parts)


def _describe_result(result: Result) -> str:
    path = text_of(result.input.get("path")).replace("`", "'")
    if not result.ok:
        message = text_of(result.payload.get("message")).removeprefix(f"{path}: ")
        return f"`{path}`: nothing changed. {escape_markdown(message)}"
    how = describe_approval(
        edited=result.payload.get("edited") is True, in_part="hunks" in result.payload
    )
    return f"`{path}`: {how} and written"
