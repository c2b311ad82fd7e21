"""The offline script for a change to code, so that approvals can be tried without a key.

It understands two sentences: `Replace "old" with "new" in notes.md`, and `Create notes.md with "text"`.
"""

import re

from idea_explorer.adapters.offline.conversation import NOTICE, Conversation, Result, ToolUse, Turn
from idea_explorer.domain.json import text_of
from idea_explorer.domain.text import escape_markdown, one_line

_QUOTED = r"[\"“'`]([^\"“”'`\n]{1,500})[\"”'`]"
_PATH = r"[`'\"]?([\w./-]{1,200}\w)[`'\"]?"
_S = r"\s{1,9}"
_REPLACE = re.compile(
    rf"\breplace{_S}{_QUOTED}{_S}(?:with|by){_S}{_QUOTED}{_S}in{_S}{_PATH}", re.IGNORECASE
)
_CREATE = re.compile(rf"\bcreate{_S}{_PATH}{_S}with{_S}{_QUOTED}", re.IGNORECASE)
TOOLS = ("edit_file", "create_file")


def propose_change(conversation: Conversation) -> Turn | None:
    """The change that the idea asks for, or what became of it; None where it asks for none."""
    decided = [result for result in conversation.results if result.name in TOOLS]
    if decided:
        return Turn(_describe(conversation, decided))
    call = _find_change(conversation.idea)
    if call is None or call.name not in conversation.tools or conversation.results:
        return None
    return Turn("Proposing the change.", (call,))


def _find_change(idea: str) -> ToolUse | None:
    description = one_line(idea, 200)
    if found := _REPLACE.search(idea):
        old, new, path = found.groups()
        return ToolUse(
            "edit_file",
            {
                "path": path,
                "replacements": [{"old": old, "new": new}],
                "description": description,
            },
        )
    if found := _CREATE.search(idea):
        path, text = found.groups()
        return ToolUse(
            "create_file", {"path": path, "content": f"{text}\n", "description": description}
        )
    return None


def _describe(conversation: Conversation, decided: list[Result]) -> str:
    lines = [f"- {_describe_result(result)}" for result in decided]
    title = escape_markdown(one_line(conversation.idea, 100))
    return "\n\n".join([f"# {title}", NOTICE, "## What became of it", "\n".join(lines)])


def _describe_result(result: Result) -> str:
    path = text_of(result.input.get("path")).replace("`", "'")
    if not result.ok:
        return f"`{path}`: {escape_markdown(text_of(result.payload.get('message')))}"
    how = "approved after an edit" if result.payload.get("edited") else "approved"
    return f"`{path}`: {how} and written"
