"""The offline scripts for questions, code and music. Research has a module of its own."""

import re
from urllib.parse import quote

from idea_explorer.adapters.offline.changes import propose_change
from idea_explorer.adapters.offline.conversation import NOTICE, Conversation, Result, ToolUse, Turn
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import escape_markdown, one_line, pluralize
from idea_explorer.domain.tools import name_part

SUMS = PAGES = 3  # per question; a question with more is a list of tasks
QUOTE = 300
_URL = lazy_pattern(r"https?://[^\s<>\"']+", re.IGNORECASE)
_FUNCTION = r"(?:sqrt|abs|round|min|max|log|ln|exp|sin|cos|tan)"
_INSIDE = rf"(?:[\d\s.,+*/^%-]|{_FUNCTION}|pi)"
_BRACKETS = rf"\((?:{_INSIDE}|\({_INSIDE}*\))*\)"
_TERM = rf"-?(?:{_FUNCTION}?{_BRACKETS}|\d+(?:\.\d+)?%?|\bpi\b)"
# without spaces, a hyphen or slash is more often part of a date or a range than of a sum
_OPERATOR = r"(?:\s*(?:\*\*|[+*^])\s*|\s+[-/%]\s+|(?<=%)\s+of\s+)"
_SUM = lazy_pattern(
    rf"(?<![\w.,]){_TERM}(?:{_OPERATOR}{_TERM})+|\b{_FUNCTION}{_BRACKETS}", re.IGNORECASE
)
_ACRONYM = lazy_pattern(r"\b[A-Z]{2,}\b")
_THOUSANDS = lazy_pattern(r"(?<=\d),(?=\d{3}\b)")


def answer_question(conversation: Conversation) -> Turn:
    """Search the attached files, calculate, and read the pages named."""
    if not conversation.results:
        calls = tuple(
            call for call in _choose_calls(conversation) if call.name in conversation.tools
        )
        if calls:
            return Turn("Looking at what the question names.", calls)
    return Turn(_write_answer(conversation))


def _choose_calls(conversation: Conversation) -> list[ToolUse]:
    question = _THOUSANDS.sub("", _URL.sub(" ", conversation.idea))
    urls = dict.fromkeys(url.rstrip(".,;:!?)") for url in _URL.findall(conversation.idea))
    sums = dict.fromkeys(_to_expression(match) for match in _SUM.findall(question))
    said = question.lower()
    acronyms = _ACRONYM.findall(question)
    known = {acronym.lower() for acronym in acronyms}
    words = [*acronyms, *(w for w in conversation.words if w in said and w not in known)]
    query = " ".join(words) or one_line(question, 200)
    has_files = "<files>" in conversation.first.replace(conversation.idea, "")
    return [
        *([ToolUse("file_search", {"query": query})] if has_files else []),
        *(ToolUse("calculator", {"expression": expression}) for expression in [*sums][:SUMS]),
        *(ToolUse("http_fetch", {"url": url}) for url in [*urls][:PAGES]),
    ]


def _to_expression(found: str) -> str:
    return re.sub(r"%\s+of\s+", "% * ", found, flags=re.IGNORECASE).strip()


def _write_answer(conversation: Conversation) -> str:
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
    return [f"- “{_plain(text_of(hit.get('excerpt')))}” ({_link(_name(hit))})" for hit in hits]


def _asked(result: Result) -> str:
    """For a code span, where a backslash does not escape anything."""
    given = " ".join(text_of(value) for value in result.input.values())
    return one_line(given.replace("`", "'"), 200)


def _name(hit: JsonObject) -> str:
    return name_part(text_of(hit.get("file")), text_of(hit.get("part")))


def _link(file: str) -> str:
    return f"[{_plain(file)}]({quote(file)})"


def _page(page: JsonObject) -> str:
    url = text_of(page.get("url"))
    title = _plain(text_of(page.get("title")) or url)
    return f"- [{title}]({quote(url, safe=':/?#@!$&*+,;=%~-._')}): “{_plain(text_of(page.get('text')))}”"


def _plain(text: str, limit: int = QUOTE) -> str:
    """One line without markup: quoted text must not become headings or links."""
    return escape_markdown(one_line(text, limit))


NAMES = 3
SHOWN = 8
# Words that look like names in code: an inner capital, an underscore, or a capital after the first word.
_NAME = lazy_pattern(
    r"\b(?:[A-Za-z]+[A-Z][A-Za-z0-9]*|[a-z0-9]+_[a-z0-9_]+|(?<=\s)[A-Z][a-z0-9]{2,})\b"
)


def explain_code(conversation: Conversation) -> Turn:
    """Propose a change where the idea spells one out. Else list the files, find the names in the question,
    and say where they are."""
    if change := propose_change(conversation):
        return change
    if conversation.results or "list_files" not in conversation.tools:
        return Turn(_describe_code(conversation))
    calls = [ToolUse("list_files", {"path": "."})]
    for name in dict.fromkeys(_NAME.findall(conversation.idea)):
        calls.append(ToolUse("find_definition", {"symbol": name}))
        calls.append(ToolUse("find_importers", {"modulePath": name}))
    if words := conversation.words[:NAMES]:
        pattern = "(?i)" + "|".join(re.escape(word) for word in words)
        calls.append(ToolUse("search_files", {"pattern": pattern}))
    return Turn("Looking around.", tuple(calls[: 2 + 2 * NAMES]))


def _describe_code(conversation: Conversation) -> str:
    """What was found about the names and words of the question, and at the end what else there is."""
    sections = [
        (result.name, f"## {_heading(result)}\n\n" + "\n".join(lines))
        for result in conversation.results
        if (lines := _lines(result))
    ]
    folder = [section for name, section in sections if name == "list_files"]
    places = [section for name, section in sections if name != "list_files"]
    words = " or ".join(f"`{word}`" for word in conversation.words[:NAMES])
    nothing = f"Nothing in the repository mentions {words or 'this'}."
    failed = [
        f"{result.name} failed: {text_of(result.payload.get('message'))}"
        for result in conversation.failed()
    ]
    found = places + failed or [nothing]
    return "\n\n".join([f"# {_plain(conversation.idea, 100)}", NOTICE, *found, *folder])


def _heading(result: Result) -> str:
    asked = next((text_of(value) for value in result.input.values()), "")
    return {
        "list_files": "The top folder",
        "find_definition": f"Where `{asked}` is defined",
        "find_importers": f"Who imports `{asked}`",
        "search_files": "Lines that mention it",
    }.get(result.name, result.name)


# The list of a result that names places in the repository.
_PLACES = ("matches", "definitions", "importers", "entries")


def _lines(result: Result) -> list[str]:
    listed = (result.payload.get(name) for name in _PLACES)
    found = next((value for value in listed if isinstance(value, list)), [])
    items = [item for item in found if isinstance(item, dict)]
    shown = [*map(_line, items[:SHOWN])]
    total = result.payload.get("totalMatches") or result.payload.get("total")
    left = (total if isinstance(total, int) else len(items)) - len(shown)
    return [*shown, f"- … and {left:,} more"] if shown and left > 0 else shown


def _line(item: JsonObject) -> str:
    where = text_of(item.get("file")) or text_of(item.get("path"))
    number = f":{item['line']}" if item.get("line") else ""
    what = next(
        (text_of(item.get(k)) for k in ("signature", "statement", "text") if item.get(k)), ""
    )
    quoted = one_line(what, 100).replace("`", "'")
    return f"- `{where}{number}`" + (f" `{quoted}`" if quoted else "")


SCANNED = 12
READ_CLOSELY = 5
PLAYLIST = 8


def discover(conversation: Conversation) -> Turn:
    """Search by meaning, read the closest tracks, and suggest a playlist."""
    searched = conversation.answered("semanticSearch")
    if "semanticSearch" in conversation.tools and not conversation.results:
        query = conversation.idea[:2_000]
        return Turn(
            "Searching by meaning.",
            (ToolUse("semanticSearch", {"query": query, "limit": SCANNED}),),
        )
    tracks = [track for result in searched for track in _tracks(result)]
    isrcs = [text_of(track.get("isrc")) for track in tracks if track.get("isrc")]
    read = any(result.name == "batchMetadata" for result in conversation.results)
    if isrcs and not read and "batchMetadata" in conversation.tools:
        return Turn(
            "Reading the closest.", (ToolUse("batchMetadata", {"isrcs": [*isrcs[:READ_CLOSELY]]}),)
        )
    proposed = any(result.name == "suggestPlaylist" for result in conversation.results)
    if isrcs and not proposed and "suggestPlaylist" in conversation.tools:
        return Turn("Proposing a playlist.", (_playlist(conversation, tracks),))
    return Turn(_closing(conversation))


def _tracks(result: Result) -> list[JsonObject]:
    found = result.payload.get("tracks")
    return [track for track in found if isinstance(track, dict)] if isinstance(found, list) else []


def _playlist(conversation: Conversation, tracks: list[JsonObject]) -> ToolUse:
    chosen: list[JsonObject] = [
        {
            "isrc": track["isrc"],
            "title": track["title"],
            "artist": track["artist"],
            "reasoning": one_line(
                text_of(track.get("shortDescription")) or "Close in meaning.", 300
            ),
        }
        for track in tracks
        if track.get("isrc")
    ][:PLAYLIST]
    title = one_line(conversation.idea, 80).capitalize()
    return ToolUse("suggestPlaylist", {"title": title, "tracks": [*chosen]})


def _closing(conversation: Conversation) -> str:
    """A short text: the report lists the tracks without it."""
    playlists = conversation.answered("suggestPlaylist")
    if not playlists:
        failed = [text_of(result.payload.get("message")) for result in conversation.failed()]
        why = f" {' '.join(failed)}" if failed else ""
        wanted = one_line(conversation.idea, 120)
        return (
            f"# Nothing found\n\n{NOTICE}\n\n"
            f"No indexed track is close to “{wanted}”.{why} Index some with `idea index FILE.jsonl`."
        )
    playlist = playlists[-1]
    owned = sum(track.get("inLibrary") is True for track in _tracks(playlist))
    title = text_of(playlist.payload.get("title"))
    count = pluralize(len(_tracks(playlist)), "track")
    found = f"{count} close to what was asked for; you own {owned or 'none'} of them."
    return f"# {title}\n\n{NOTICE}\n\n{found}\n"
