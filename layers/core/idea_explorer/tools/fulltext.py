"""Full-text search: SQLite's FTS5 in memory, ranked by BM25, over documents or passages of uploaded files."""

import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from idea_explorer.domain.text import one_line
from idea_explorer.ports import UploadedFile
from idea_explorer.tools.readable import decode, readable

_WORD = re.compile(r"\w+", re.UNICODE)
MAX_TERMS = 32  # more words do not improve the ranking
EXCERPT_TOKENS = 40
EXCERPT_CHARS = 300  # of a text whose title or name matches, and nothing else of it


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
        self._db = _open_index()
        self._db.executemany(
            "INSERT INTO docs VALUES (?, ?, ?)", (tuple(map(_storable, row)) for row in documents)
        )

    def search(self, query: str, limit: int) -> tuple[list[SearchHit], int]:
        """The best hits, and how many documents match at all."""
        words = list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))[:MAX_TERMS]
        if not words:
            return [], 0
        match = " OR ".join(f'"{word}"' for word in words)
        with self._lock:
            # weights: a title says more than a name or a word of the text
            rows = self._db.execute(
                "SELECT name, title, body, -bm25(docs, 1.0, 4.0, 1.0)"
                " FROM docs WHERE docs MATCH ? ORDER BY bm25(docs, 1.0, 4.0, 1.0), name LIMIT ?",
                (match, limit),
            ).fetchall()
            (total,) = self._db.execute(
                "SELECT count(*) FROM docs WHERE docs MATCH ?", (match,)
            ).fetchone()
        return [
            SearchHit(name, title, _excerpt(text, match), float(f"{score:.4g}"))
            for name, title, text, score in rows
        ], total


def _open_index() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute(
        "CREATE VIRTUAL TABLE docs USING fts5"
        "(name, title, body, tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    return db


def _storable(text: str) -> str:
    """Half of a surrogate pair, as the bytes of a file name may become one, cannot be stored."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _excerpt(text: str, match: str) -> str:
    """The part of a text with most of the words, or its beginning.

    FTS5 compares every match of a text with every other, so it is given passages of bounded length.
    """
    passages = list(split_passages(text))
    with closing(_open_index()) as db:
        db.executemany("INSERT INTO docs VALUES ('', '', ?)", ((part,) for part in passages))
        found = db.execute(
            "SELECT snippet(docs, 2, '', '', ' … ', ?) FROM docs WHERE docs MATCH ?"
            " ORDER BY bm25(docs), rowid LIMIT 1",
            (EXCERPT_TOKENS, match),
        ).fetchone()
    return found[0] if found else one_line(text[:PASSAGE_CHARS], EXCERPT_CHARS)


PASSAGE_CHARS = 1_000  # a passage is returned whole: the match with its surroundings
MAX_FILE_CHARS = 2_000_000  # about 500 pages; more takes longer to index than a tool may run
BINARY_PROBE = 8_192
# files with these endings may have an older encoding than UTF-8; others then count as binary
TEXT_SUFFIXES = (".txt", ".md", ".markdown", ".csv", ".tsv", ".json", ".html", ".htm", ".log")
HTML_SUFFIXES = (".html", ".htm", ".xhtml")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BREAK = re.compile(r"\s\S*$")


class UploadIndex:
    """The passages of all text files, and why other files are not searched, or not in full."""

    def __init__(self, files: Iterable[UploadedFile]) -> None:
        self.names: list[str] = []
        self.remarks: dict[str, str] = {}
        self._passages: list[tuple[str, str]] = []
        for file in files:
            self._add(file)
        # by a number that no query contains: a file's name must not make all its passages match
        self._index = FullText(
            (f"passage{number}", "", text) for number, (_, text) in enumerate(self._passages)
        )

    def search(self, query: str, limit: int) -> tuple[list[SearchHit], int]:
        """The best passages, and how many match at all."""
        hits, total = self._index.search(query, limit)
        passages = [self._passages[int(hit.name.removeprefix("passage"))] for hit in hits]
        found = zip(hits, passages, strict=True)
        return [replace(hit, name=name, excerpt=text) for hit, (name, text) in found], total

    def _add(self, file: UploadedFile) -> None:
        text, is_cut = _extract(file)
        if text is None:
            self.remarks[file.name] = (
                "not a text file; text, Markdown, CSV, JSON and HTML are searched"
            )
            return
        self.names.append(file.name)
        if is_cut:
            self.remarks[file.name] = f"only its first {MAX_FILE_CHARS:,} characters are searched"
        self._passages += ((file.name, part) for part in split_passages(text))


def extract_text(file: UploadedFile) -> str | None:
    """The file's text as far as it is searched, or None for a binary file; its content decides, not its
    name."""
    return _extract(file)[0]


def _extract(file: UploadedFile) -> tuple[str | None, bool]:
    """The text, and whether the file has more. Of a page, it is the source that is bounded: tags take
    longer to read than text."""
    data, name = file.content, file.name.lower()
    if not data.startswith(_UTF16_MARKS):
        if b"\0" in data[:BINARY_PROBE] or data.startswith(b"%PDF-"):
            return None, False
        if not name.endswith(TEXT_SUFFIXES) and not _is_utf8(data):
            return None, False
    is_page = name.endswith(HTML_SUFFIXES)
    whole = decode(data, html=is_page)
    text, is_cut = whole[:MAX_FILE_CHARS], len(whole) > MAX_FILE_CHARS
    return (readable(text, limit=MAX_FILE_CHARS).text if is_page else text), is_cut


def split_passages(text: str) -> Iterator[str]:
    """Pieces of at most PASSAGE_CHARS, split between paragraphs, lines or words if possible."""
    start = 0
    while start < len(text):
        piece = text[start : start + PASSAGE_CHARS]
        if start + PASSAGE_CHARS < len(text):
            piece = piece[: _cut(piece)]
        start += len(piece)
        if not piece.isspace():
            yield piece.strip()


def _cut(piece: str) -> int:
    """Where to end a full piece: in its second half, so that no passage is tiny."""
    half = len(piece) // 2
    for separator in ("\n\n", "\n"):
        if (found := piece.rfind(separator, half)) > 0:
            return found + len(separator)
    word = _BREAK.search(piece, half)
    return word.start() + 1 if word else len(piece)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
