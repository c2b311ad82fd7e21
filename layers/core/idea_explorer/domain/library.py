"""The team's research as a list that people search."""

from collections.abc import Iterable, Sequence

from idea_explorer.domain.similar_research import IndexEntry, extract_terms
from idea_explorer.domain.text import fold


def select_documents(
    entries: Iterable[IndexEntry], search: str, *, limit: int, offset: int
) -> tuple[Sequence[IndexEntry], int]:
    """A page of the documents that contain every word, newest first, and how many there are."""
    words = [(word, set(extract_terms(word))) for word in fold(search).split()]
    found = [entry for entry in entries if _has_all(entry, words)]
    found.sort(key=lambda entry: fold(entry.title))
    found.sort(key=lambda entry: entry.date or "", reverse=True)
    return found[offset : offset + limit], len(found)


def _has_all(entry: IndexEntry, words: list[tuple[str, set[str]]]) -> bool:
    if not words:
        return True
    text = fold(f"{entry.title} {entry.idea} {entry.path} {entry.verdict or ''}")
    terms = {*entry.subject, *entry.terms}
    return all(word in text or (of_word and of_word <= terms) for word, of_word in words)
