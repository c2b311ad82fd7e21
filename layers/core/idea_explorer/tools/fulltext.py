"""Full-text search: SQLite's FTS5 in memory, ranked by BM25, over documents or passages of uploaded files."""

import sqlite3
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from idea_explorer.domain.errors import UnreadableFileError
from idea_explorer.domain.file_kinds import FileKind, FileSample, detect_kind
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.search_words import TOKENIZER, make_storable, match_any
from idea_explorer.domain.text import one_line
from idea_explorer.ports import DocumentPart, DocumentReader, DocumentText, UploadedFile
from idea_explorer.tools.decoding import decode_text

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
            "INSERT INTO docs VALUES (?, ?, ?)",
            (tuple(map(make_storable, row)) for row in documents),
        )

    def search(self, query: str, limit: int) -> tuple[list[SearchHit], int]:
        """The best hits, and how many documents match at all."""
        if (match := match_any(query)) is None:
            return [], 0
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
    db.execute(f"CREATE VIRTUAL TABLE docs USING fts5(name, title, body, tokenize = '{TOKENIZER}')")
    return db


def cut_passage(text: str, query: str) -> str:
    """The part of a text with most of the words of a query, or its beginning."""
    match = match_any(query)
    return _excerpt(text, match) if match else _begin(text)


def _excerpt(text: str, match: str) -> str:
    """The part of a text with most of the words, or its beginning.

    FTS5 compares every match of a text with every other, so it is given passages of bounded length.
    """
    with _borrow_empty_index() as db:
        db.executemany(
            "INSERT INTO docs VALUES ('', '', ?)", ((part,) for part in split_passages(text))
        )
        found = db.execute(
            "SELECT snippet(docs, 2, '', '', ' … ', ?) FROM docs WHERE docs MATCH ?"
            " ORDER BY bm25(docs), rowid LIMIT 1",
            (EXCERPT_TOKENS, match),
        ).fetchone()
    return found[0] if found else _begin(text)


MAX_EMPTY = 4  # as many threads as are likely to search at once
_empty: deque[sqlite3.Connection] = deque()


@contextmanager
def _borrow_empty_index() -> Iterator[sqlite3.Connection]:
    """One that is used again: making it takes ten times as long as an excerpt. What is added is undone."""
    try:
        db = _empty.pop()
    except IndexError:
        db = _open_index()
    try:
        yield db
    finally:
        db.rollback()
        if len(_empty) < MAX_EMPTY:
            _empty.append(db)
        else:
            db.close()


def _begin(text: str) -> str:
    return one_line(text[:PASSAGE_CHARS], EXCERPT_CHARS)


PASSAGE_CHARS = 1_000  # a passage is returned whole: the match with its surroundings
MAX_FILE_CHARS = 2_000_000  # about 500 pages; more takes longer to index than a tool may run
_BREAK = lazy_pattern(r"\s\S*$")


class UploadIndex:
    """The passages of all files that were added, and why other files are not searched, or not in full."""

    def __init__(self, documents: DocumentReader, files: Iterable[UploadedFile] = ()) -> None:
        self.count = 0
        self.names: list[str] = []
        self.remarks: dict[str, str] = {}
        self._documents = documents
        self._passages: list[tuple[str, str, str]] = []
        self._index: FullText | None = None
        for file in files:
            self.add(file)

    def add(self, file: UploadedFile) -> None:
        """To be done before the first search."""
        try:
            found = extract_text(file, self._documents)
            self.names.append(file.name)
            self._passages += (
                (file.name, part.label, passage)
                for part in found.parts
                for passage in split_passages(part.text)
            )
            remark = found.remark
        except UnreadableFileError as error:
            remark = f"not searched: it {error.reason}"
        if remark:
            self.remarks[file.name] = remark
        self.count += 1

    def search(self, query: str, limit: int) -> tuple[list[SearchHit], int]:
        """The best passages, and how many match at all. A hit's title says on which page, sheet or slide."""
        if self._index is None:
            # by a number that no query contains: a file's name must not make all its passages match
            self._index = FullText(
                (f"passage{number}", "", text) for number, (_, _, text) in enumerate(self._passages)
            )
        hits, total = self._index.search(query, limit)
        passages = [self._passages[int(hit.name.removeprefix("passage"))] for hit in hits]
        return [
            replace(hit, name=name, title=label, excerpt=text)
            for hit, (name, label, text) in zip(hits, passages, strict=True)
        ], total


def extract_text(file: UploadedFile, documents: DocumentReader) -> DocumentText:
    """The file's text as far as it is searched; its content decides what it is, not its name. Raises
    UnreadableFileError. Of a page, it is the source that is bounded: tags take longer to read than text."""
    kind = detect_kind(FileSample.of(file.name, file.content))
    if kind.is_document:
        return documents.read(kind, file.content, max_chars=MAX_FILE_CHARS)
    is_page = kind is FileKind.PAGE
    whole = decode_text(file.content, html=is_page, limit=MAX_FILE_CHARS + 1)
    text = whole.text[:MAX_FILE_CHARS]
    if is_page:
        from idea_explorer.tools.readable import readable

        text = readable(text, limit=MAX_FILE_CHARS).text
    remarks = []
    if len(whole.text) > MAX_FILE_CHARS:
        remarks.append(f"only its first {MAX_FILE_CHARS:,} characters are read")
    if whole.guess:
        remarks.append(f"does not say its encoding and is read as {whole.guess}, a guess")
    return DocumentText([DocumentPart("", text)], "; ".join(remarks))


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
