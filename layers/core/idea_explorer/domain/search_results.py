"""Results of our tools as `search_result` blocks, whose citations carry the exact passage.

The API's rules: where one block of a tool result is a search result, all are; citations are on for all of
them or for none in a request, and on where web_search is among the tools; the text block is the smallest
piece that is cited. A conversation repeats its results word for word, so another way of splitting texts
would invalidate its cache.
"""

from collections.abc import Iterator

from idea_explorer.domain.json import Block, JsonObject, dump_canonical
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.tools import Passage
from idea_explorer.domain.transcript import StoredResult

CITED_TOOLS = frozenset({"read_research", "search_research", "file_search", "http_fetch"})
# Of a piece of text, in characters: a short paragraph at least, what a reader checks at a glance at most.
SHORTEST, LONGEST = 200, 800
_BREAKS = ("\n", ". ", " ")
# What else of a result the model has to know, which stands behind its text.
_NOTES = ("note", "remarks")


def build_search_results(result: StoredResult) -> list[Block]:
    """The blocks of a result; none for an error, and where nothing was found: those stay JSON."""
    if result.name not in CITED_TOOLS or not result.record.ok:
        return []
    blocks = [_build_block(passage) for passage in result.passages if passage.text.strip()]
    notes = _find_notes(result.payload, shown=len(blocks))
    if not blocks or not notes:
        return blocks
    note: Block = {"type": "text", "text": dump_canonical(notes)}
    content = blocks[-1]["content"]
    assert isinstance(content, list)
    return [*blocks[:-1], {**blocks[-1], "content": [*content, note]}]


def _build_block(passage: Passage) -> Block:
    """The source of one of the team's documents is the path that read_research takes."""
    source = passage.source.removeprefix(f"{RESEARCH_ROOT}/")
    content: list[Block] = [{"type": "text", "text": piece} for piece in split_text(passage.text)]
    return {
        "type": "search_result",
        "source": source,
        "title": passage.title.strip() or source,
        "content": [*content],
        "citations": {"enabled": True},
    }


def _find_notes(payload: JsonObject, *, shown: int) -> JsonObject:
    notes = {name: payload[name] for name in _NOTES if payload.get(name)}
    total = payload.get("totalFound")
    if isinstance(total, int) and total > shown:
        notes["totalFound"] = total
    results = payload.get("results")
    for found in results if isinstance(results, list) else ():
        if isinstance(found, dict) and (note := found.get("note")):
            notes[f"note on {found.get('path')}"] = note
    if payload.get("truncated"):
        notes["truncated"] = True
    return notes


def split_text(text: str) -> list[str]:
    """The text in pieces that end with a paragraph, a line, a sentence or a word, in this order of
    preference. Together they are the whole text, and none is blank."""
    pieces: list[str] = []
    blank = ""
    for piece in _split(text):
        if piece.strip():
            pieces.append(f"{blank}{piece}")
            blank = ""
        elif pieces:
            pieces[-1] += piece
        else:
            blank += piece
    return pieces


def _split(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _find_end(text, start)
        yield text[start:end]
        start = end


def _find_end(text: str, start: int) -> int:
    first, last = start + SHORTEST, start + LONGEST
    paragraph = text.find("\n\n", first, last)
    if paragraph >= 0:
        return paragraph + 2
    if last >= len(text):
        return len(text)
    for mark in _BREAKS:
        found = text.rfind(mark, first, last)
        if found >= 0:
            return found + len(mark)
    return last
