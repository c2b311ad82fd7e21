"""The offline script for questions: search the attached files, calculate, read the pages named."""

import re
from urllib.parse import quote

from idea_explorer.adapters.offline.conversation import NOTICE, Conversation, Result, ToolUse, Turn
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.text import escape_markdown, one_line

SUMS = PAGES = 3  # per question; a question with more is a list of tasks
QUOTE = 300
_URL = re.compile(r"https?://[^\s<>\"']+", re.IGNORECASE)
_FUNCTION = r"(?:sqrt|abs|round|min|max|log|ln|exp|sin|cos|tan)"
_INSIDE = rf"(?:[\d\s.,+*/^%-]|{_FUNCTION}|pi)"
_BRACKETS = rf"\((?:{_INSIDE}|\({_INSIDE}*\))*\)"
_TERM = rf"-?(?:{_FUNCTION}?{_BRACKETS}|\d+(?:\.\d+)?%?|\bpi\b)"
# without spaces, a hyphen or slash is more often part of a date or a range than of a sum
_OPERATOR = r"(?:\s*(?:\*\*|[+*^])\s*|\s+[-/%]\s+|(?<=%)\s+of\s+)"
_SUM = re.compile(
    rf"(?<![\w.,]){_TERM}(?:{_OPERATOR}{_TERM})+|\b{_FUNCTION}{_BRACKETS}", re.IGNORECASE
)
_ACRONYM = re.compile(r"\b[A-Z]{2,}\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


def assistant(conversation: Conversation) -> Turn:
    if not conversation.results:
        calls = tuple(
            call for call in _choose_calls(conversation) if call.name in conversation.tools
        )
        if calls:
            return Turn("Looking at what the question names.", calls)
    return Turn(_answer(conversation))


def _choose_calls(conversation: Conversation) -> list[ToolUse]:
    question = _THOUSANDS.sub("", _URL.sub(" ", conversation.idea))
    urls = dict.fromkeys(url.rstrip(".,;:!?)") for url in _URL.findall(conversation.idea))
    sums = dict.fromkeys(_to_expression(match) for match in _SUM.findall(question))
    said = question.lower()
    words = [*_ACRONYM.findall(question), *(word for word in conversation.words if word in said)]
    query = " ".join(words) or one_line(question, 200)
    has_files = "<files>" in conversation.first.replace(conversation.idea, "")
    return [
        *([ToolUse("file_search", {"query": query})] if has_files else []),
        *(ToolUse("calculator", {"expression": expression}) for expression in [*sums][:SUMS]),
        *(ToolUse("http_fetch", {"url": url}) for url in [*urls][:PAGES]),
    ]


def _to_expression(found: str) -> str:
    return re.sub(r"%\s+of\s+", "% * ", found, flags=re.IGNORECASE).strip()


def _answer(conversation: Conversation) -> str:
    sections = {
        "From the files": [
            line for result in conversation.answered("file_search") for line in _excerpts(result)
        ],
        "Calculated": [
            f"- `{result.payload.get('expression')}` = {result.payload.get('result')}"
            for result in conversation.answered("calculator")
        ],
        "From the web": [_page(result.payload) for result in conversation.answered("http_fetch")],
        "What failed": [
            f"- {result.name} of `{_asked(result)}`: {_plain(text_of(result.payload.get('message')))}"
            for result in conversation.failed()
        ],
    }
    found = [f"## {name}\n\n" + "\n".join(lines) for name, lines in sections.items() if lines]
    return "\n\n".join([f"# {_plain(conversation.idea, 100)}", NOTICE, *(found or [NOTHING])])


NOTHING = (
    "There is no answer here: the offline model cannot search the web, and the question names no"
    " file, web address or sum that its tools could work on."
)


def _excerpts(result: Result) -> list[str]:
    found = result.payload.get("results")
    hits = [hit for hit in found if isinstance(hit, dict)] if isinstance(found, list) else []
    if not hits:
        return [f"- {_plain(text_of(result.payload.get('note')))}"]
    return [
        f"- “{_plain(text_of(hit.get('excerpt')))}” ({_link(text_of(hit.get('file')))})"
        for hit in hits
    ]


def _asked(result: Result) -> str:
    """For a code span, where a backslash does not escape anything."""
    given = " ".join(text_of(value) for value in result.input.values())
    return one_line(given.replace("`", "'"), 200)


def _link(file: str) -> str:
    return f"[{_plain(file)}]({quote(file)})"


def _page(page: JsonObject) -> str:
    url = text_of(page.get("url"))
    title = _plain(text_of(page.get("title")) or url)
    return f"- [{title}]({quote(url, safe=':/?#@!$&*+,;=%~-._')}): “{_plain(text_of(page.get('text')))}”"


def _plain(text: str, limit: int = QUOTE) -> str:
    """One line without markup: quoted text must not become headings or links."""
    return escape_markdown(one_line(text, limit))
