"""The tables of an index, and what is written to them."""

import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

from idea_explorer.domain.document_fields import ParsedText
from idea_explorer.domain.paths import RESEARCH_ROOT, encode_name
from idea_explorer.domain.report_text import find_title
from idea_explorer.domain.search_words import TOKENIZER, make_storable
from idea_explorer.domain.similar_research import IndexEntry, index_document

# The full-text index holds no text of its own: that is in `texts`. Compressing it would be a tenth of the
# time in which an index is built.
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    name BLOB PRIMARY KEY, version TEXT NOT NULL, size INTEGER NOT NULL, document INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, entry TEXT NOT NULL, entry_hash BLOB NOT NULL,
    text_hash BLOB NOT NULL, idea_key TEXT NOT NULL, mode TEXT NOT NULL, status TEXT NOT NULL,
    exploration_id TEXT NOT NULL, has_problem INTEGER NOT NULL, is_offline INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS by_path ON documents (path);
CREATE INDEX IF NOT EXISTS by_date ON documents (coalesce(json_extract(entry, '$.date'), ''), path);
CREATE INDEX IF NOT EXISTS by_idea ON documents (idea_key, mode, status, path);
CREATE INDEX IF NOT EXISTS by_exploration ON documents (exploration_id);
CREATE INDEX IF NOT EXISTS by_problem ON documents (path) WHERE has_problem;
CREATE INDEX IF NOT EXISTS by_offline ON documents (id) WHERE is_offline;
CREATE TABLE IF NOT EXISTS terms (
    term TEXT NOT NULL, document INTEGER NOT NULL, share REAL NOT NULL, PRIMARY KEY (term, document)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS frequencies (
    term TEXT PRIMARY KEY, documents INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS texts (
    document INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL
);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    name, title, body, content = '', tokenize = '{TOKENIZER}'
);
"""


class DamagedIndexError(Exception):
    """What is stored is not what was written."""


@dataclass(frozen=True, slots=True)
class NewDocument:
    """What is stored of a document. `text` is None where the index is not searched for words."""

    name: str
    version: str
    size: int
    entry: IndexEntry
    subject: Collection[str]
    text_hash: bytes = b""
    text: str | None = None


def prepare_document(
    name: str, version: str, size: int, text: str, parsed: ParsedText | None = None
) -> NewDocument:
    """Takes any text: one that cannot be indexed is a problem of that document, not of the others. It may
    have been parsed before."""
    path, storable = show_path(name), make_storable(text)
    text_hash = hash_content(storable)
    try:
        if parsed:
            entry = IndexEntry(**parsed.fields)
            return NewDocument(name, version, size, entry, parsed.subject, text_hash, storable)
        entry = index_document(path, storable)
    except Exception as error:  # noqa: BLE001  people and models wrote it
        entry = IndexEntry(path=path, title=path, problem=f"not indexed: {type(error).__name__}")
    return NewDocument(name, version, size, entry, entry.subject, text_hash, storable)


def show_path(name: str) -> str:
    return f"{RESEARCH_ROOT}/{show_name(name)}"


def show_name(name: str) -> str:
    """A name that can be stored and sent: file names can contain any bytes."""
    return encode_name(store_name(name))[0]


def store_name(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def load_name(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


def hash_content(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


# twice what one question about an idea compares: the next one, as somebody types, is about the same subject
@lru_cache(maxsize=128)
def load_entry(stored: str, expected: bytes) -> IndexEntry:
    """Raises DamagedIndexError if it is not what was written."""
    if hash_content(stored) != expected:
        raise DamagedIndexError
    return IndexEntry.model_validate_json(stored)


def load_text(stored: str | bytes, expected: bytes) -> str:
    """Raises DamagedIndexError if it is not what was written; a damaged page may hold anything."""
    if not isinstance(stored, str) or hash_content(stored) != expected:
        raise DamagedIndexError
    return stored


@dataclass
class Writer:
    """Writes to the tables within one transaction. The terms of all documents are written by `finish`, in
    their order: that is several times as fast."""

    db: sqlite3.Connection
    _terms: defaultdict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    _removed: Counter[str] = field(default_factory=Counter)

    def put_file(self, name: str, version: str, size: int) -> None:
        """A file that is listed and not indexed."""
        self._remove_document(name)
        self._put_file(name, version, size, None)

    def _put_file(self, name: str, version: str, size: int, document: int | None) -> None:
        self.db.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
            (store_name(name), version, size, document),
        )

    def put_version(self, name: str, version: str, size: int) -> None:
        self.db.execute(
            "UPDATE files SET version = ?, size = ? WHERE name = ?",
            (version, size, store_name(name)),
        )

    def put_document(self, new: NewDocument) -> None:
        """In place of what is stored under this name."""
        self._remove_document(new.name)
        entry, stored = new.entry, new.entry.model_dump_json(exclude_defaults=True)
        found = self.db.execute(
            "INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.path,
                stored,
                hash_content(stored),
                new.text_hash,
                entry.idea_key,
                entry.mode,
                entry.status,
                entry.exploration_id,
                bool(entry.problem),
                entry.is_offline,
            ),
        )
        document = found.lastrowid
        assert document is not None
        self._put_file(new.name, new.version, new.size, document)
        for term, share in _share_terms(entry, new.subject).items():
            self._terms[term][document] = share
        if new.text is not None:
            self._put_text(document, show_name(new.name), new.text)

    def _put_text(self, document: int, path: str, text: str) -> None:
        title = find_title(text, path)
        self.db.execute("INSERT INTO texts VALUES (?, ?, ?)", (document, title, text))
        self.db.execute(
            "INSERT INTO words (rowid, name, title, body) VALUES (?, ?, ?, ?)",
            (document, path, title, text),
        )

    def remove_file(self, name: str) -> None:
        self._remove_document(name)
        self.db.execute("DELETE FROM files WHERE name = ?", (store_name(name),))

    def _remove_document(self, name: str) -> None:
        row = self.db.execute(
            "SELECT id, entry, entry_hash, text_hash, title, text FROM files"
            " JOIN documents ON id = files.document LEFT JOIN texts ON texts.document = id"
            " WHERE name = ?",
            (store_name(name),),
        ).fetchone()
        if row is None:
            return
        document, entry, entry_hash, text_hash, title, text = row
        self._remove_terms(document, load_entry(entry, entry_hash))
        if text is not None:
            # without a text of its own, the full-text index has to be told what it holds
            self.db.execute(
                "INSERT INTO words (words, rowid, name, title, body) VALUES ('delete', ?, ?, ?, ?)",
                (document, show_name(name), title, load_text(text, text_hash)),
            )
            self.db.execute("DELETE FROM texts WHERE document = ?", (document,))
        self.db.execute("DELETE FROM documents WHERE id = ?", (document,))

    def _remove_terms(self, document: int, entry: IndexEntry) -> None:
        terms = _share_terms(entry, entry.subject)
        self._removed.update(iter(terms))
        self.db.executemany(
            "DELETE FROM terms WHERE term = ? AND document = ?",
            ((term, document) for term in terms),
        )

    def finish(self) -> None:
        self.db.executemany(
            "INSERT INTO terms VALUES (?, ?, ?)",
            (
                (term, document, share)
                for term, shares in sorted(self._terms.items())
                for document, share in shares.items()
            ),
        )
        counts = Counter({term: len(shares) for term, shares in self._terms.items()})
        counts.subtract(self._removed)
        self.db.executemany(
            "INSERT INTO frequencies VALUES (?, ?) ON CONFLICT (term)"
            " DO UPDATE SET documents = documents + excluded.documents",
            ((term, by) for term, by in counts.items() if by),
        )


def _share_terms(entry: IndexEntry, subject: Collection[str]) -> dict[str, float]:
    """The terms of a document, each with its share of the subject; 0 for one of the text only."""
    share = 1 / max(len(subject), 1)
    return {**dict.fromkeys(entry.terms, 0.0), **dict.fromkeys(subject, share)}
