"""A new conversation with the request and the evidence, for one that is too long or too expensive."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from idea_explorer.agent.budget import BYTES_PER_TOKEN, MIN_EVIDENCE_TOKENS, WRITE_TOKENS, Budget
from idea_explorer.agent.prompts import prompt
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.cited_sources import read_citations
from idea_explorer.domain.json import (
    Block,
    document_block,
    document_text,
    dump_canonical,
    text_of,
)
from idea_explorer.domain.tools import Passage
from idea_explorer.domain.transcript import ConversationRestarted, StoredResult, WriteReason
from idea_explorer.domain.turns import find_documents

CUT = " […]"
EVIDENCE = "Evidence"  # the document's title, which the prompt names
MAX_EVIDENCE_TOKENS = 100_000  # half of the smallest context window
MAX_EVIDENCE_BYTES = int(MAX_EVIDENCE_TOKENS * BYTES_PER_TOKEN)


def fit_fresh_start(
    state: State,
    reason: WriteReason,
    budget: Budget,
    tokens_with: Callable[[ConversationRestarted], int],
) -> ConversationRestarted | None:
    """A new conversation with as much of the evidence as the budget allows, for a short report if it does
    not allow a full one; `tokens_with` counts the tokens of a whole request. None if the budget allows too
    little of the evidence: a report from nothing is worth nothing, and the conversation is kept for a
    resume with a larger budget."""
    whole = build_fresh_start(state, reason, room=MAX_EVIDENCE_BYTES)
    for output in (WRITE_TOKENS, limits.MIN_OUTPUT_TOKENS):
        room = budget.input_room(state.billed, output)
        if room is None or tokens_with(whole) <= room:
            return whole
        least = tokens_with(build_fresh_start(state, reason, room=0))
        if room >= least + MIN_EVIDENCE_TOKENS:
            return build_fresh_start(state, reason, room=int((room - least) * BYTES_PER_TOKEN))
    return None


def estimate_least_start(state: State, tokens_with: Callable[[ConversationRestarted], int]) -> int:
    """The least input with which `fit_fresh_start` returns anything."""
    whole = tokens_with(build_fresh_start(state, "budget", room=MAX_EVIDENCE_BYTES))
    least = tokens_with(build_fresh_start(state, "budget", room=0))
    return min(whole, least + MIN_EVIDENCE_TOKENS)


def build_fresh_start(state: State, reason: WriteReason, *, room: int) -> ConversationRestarted:
    """Write from the evidence alone, of which at most `room` bytes are sent."""
    content = state.opening.content
    idea = "\n\n".join(text for block in content if (text := text_of(block.get("text"))))
    # without citations, which all documents of a request have, or none: "Evidence" is no source to cite
    documents = [
        {name: value for name, value in block.items() if name != "citations"}
        for block in content
        if block.get("type") == "document"
    ]
    # in older transcripts a document is part of the first message's text
    attached = "\n".join([idea, *map(document_text, documents)])
    found = [p for p in gather_passages(state) if not p.text or p.text not in attached]
    evidence = document_block(EVIDENCE, fit_passages(found, room) or "(nothing)")
    asked: Block = {"type": "text", "text": prompt("fresh_start", idea=idea)}
    return ConversationRestarted(reason=reason, content=[asked, *documents, evidence])


def fit_passages(passages: Sequence[Passage], room: int) -> str:
    """Shorten the longest passages until all fit; if that is not enough, leave out the last ones."""
    heads: list[str] = []
    for passage in passages:
        head = f"- {passage.title or passage.source} ({passage.source})"
        needed = _size(f"{head}\n{CUT}\n")
        if needed > room:
            break
        room -= needed
        heads.append(head)
    texts = [passage.text for passage in passages[: len(heads)]]
    most = _most([_size(text) for text in texts], room)
    parts = [
        f"{head}\n{cut_text(text, most)}".rstrip() for head, text in zip(heads, texts, strict=True)
    ]
    return "\n".join(parts)


def gather_passages(state: State) -> Iterator[Passage]:
    """Everything read or found, once each: passages, whole results of tools that name no passages, and
    the cited parts of pages that a search found."""
    whole = [_as_passage(r) for r in state.results if r.record.ok and not r.passages]
    quotes = _quotes(state)
    seen: set[tuple[str, str]] = set()
    for passage in [*state.evidence, *whole]:
        key = (passage.source, passage.sha256)
        if key not in seen:
            seen.add(key)
            quoted = "\n".join(quotes.get(passage.source, ()))
            yield passage if passage.text else replace(passage, text=quoted)


def _quotes(state: State) -> dict[str, dict[str, None]]:
    """By page, the texts cited from it: the only readable part of a search result or a PDF."""
    quotes: dict[str, dict[str, None]] = {}
    documents = find_documents(state.entries)
    for block in (block for answer in state.answers for block in answer.content):
        for target, words in read_citations(block, documents):
            if words:
                quotes.setdefault(target, {})[words] = None
    return quotes


def _as_passage(result: StoredResult) -> Passage:
    return Passage(
        source=f"{result.name} {dump_canonical(result.input)}",
        sha256=result.sha256,
        text=dump_canonical(result.payload),
    )


def _most(sizes: Sequence[int], room: int) -> int:
    """The size to cut larger texts to, so that all of them fit."""
    left = len(sizes)
    for size in sorted(sizes):
        if size * left > room:
            return room // left
        room -= size
        left -= 1
    return max(sizes, default=0)


def cut_text(text: str, most: int) -> str:
    """The beginning of a text that is longer than so many bytes as sent."""
    if _size(text) <= most:
        return text
    while (size := _size(text)) > most:
        text = text[: len(text) * most // size]
    return text + CUT


def _size(text: str) -> int:
    """Bytes as sent, with JSON escapes."""
    return len(dump_canonical(text).encode("utf-8", "surrogatepass")) - 2
