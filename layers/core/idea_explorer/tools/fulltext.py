"""Full-text search over a few documents: SQLite's FTS5 in memory, ranked by BM25."""

import re
import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import dataclass

_WORD = re.compile(r"\w+", re.UNICODE)
MAX_TERMS = 32  # more words do not improve the ranking
EXCERPT_TOKENS = 40


@dataclass(frozen=True, slots=True)
class SearchHit:
    name: str
    title: str
    excerpt: str
    score: float


class FullText:
    """An index over (name, title, text). Any text is a valid query: only its words count."""

    def __init__(self, documents: Iterable[tuple[str, str, str]]) -> None:
        # tools run in threads; one of them at a time may use the index
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE VIRTUAL TABLE docs USING fts5"
            "(name, title, body, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._db.executemany("INSERT INTO docs VALUES (?, ?, ?)", documents)

    def search(self, query: str, limit: int) -> tuple[list[SearchHit], int]:
        """The best hits, and how many documents match at all."""
        words = list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))[:MAX_TERMS]
        if not words:
            return [], 0
        match = " OR ".join(f'"{word}"' for word in words)
        with self._lock:
            # weights: a title says more than a name or a word of the text
            rows = self._db.execute(
                "SELECT name, title, snippet(docs, 2, '', '', ' … ', ?), -bm25(docs, 1.0, 4.0, 1.0)"
                " FROM docs WHERE docs MATCH ? ORDER BY bm25(docs, 1.0, 4.0, 1.0), name LIMIT ?",
                (EXCERPT_TOKENS, match, limit),
            ).fetchall()
            (total,) = self._db.execute(
                "SELECT count(*) FROM docs WHERE docs MATCH ?", (match,)
            ).fetchone()
        return [
            SearchHit(name, title, excerpt, float(f"{score:.4g}"))
            for name, title, excerpt, score in rows
        ], total
