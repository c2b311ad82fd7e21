"""One SQLite file that holds an index. It can always be built again, so a file that is damaged, of another
version or of other documents is thrown away, and where none can be written the index is kept in memory."""

import sqlite3
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

from idea_explorer.adapters.research_index.sources import FileChange
from idea_explorer.adapters.research_index.tables import (
    SCHEMA,
    DamagedIndexError,
    NewDocument,
    Writer,
    hash_content,
    load_name,
    prepare_document,
    store_name,
)
from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.document_fields import ParsedText
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.search_words import make_storable

if TYPE_CHECKING:
    from idea_explorer.adapters.research_index.parsing import ParsedChange

FORMAT = 3  # to be raised with every change of the tables, or of what is written to them
# Files written at once, and the most characters of them. The full-text index merges what it is given piece by
# piece, again and again, so few large pieces take half the time, and a crash costs no more than these. Who
# reads a file does not wait meanwhile; who reads an index in memory does.
BATCH = 2_000
BATCH_IN_MEMORY = 200
BATCH_CHARACTERS = 10_000_000
FIRST_BATCH_CHARACTERS = 5_000_000  # so that others parse while it is written
# Documents that are parsed here before other processes take part: their start takes as long as parsing 100.
PARSED_HERE = 100
# of words in memory, after which the full-text index writes a piece anyway; a megabyte by default
PIECE_BYTES = 16 * 1_024 * 1_024
# Pieces of one size that are merged into one; 4 by default. The fewer they are, the more often the same words
# are written: 20,000 documents twice instead of once, to be searched no faster.
MERGED_PIECES = 8

# a table that is lost is made again when the file is opened, and then it is empty
_IS_WHOLE = """
SELECT count(document) = (SELECT count(*) FROM documents)
    AND (SELECT count(*) FROM texts) IN (0, count(document)) FROM files
"""

# version, size and hash of the text
_STORED = """
SELECT name, version, size, text_hash FROM files LEFT JOIN documents ON id = document
WHERE name BETWEEN ? AND ?
"""
RANGE_QUERY_FROM = 500  # changes at once

Step: TypeAlias = Callable[[Writer], None]
Stored: TypeAlias = tuple[object, ...]


class IndexFile:
    """Without `keeps_texts` it cannot be searched for words."""

    def __init__(self, path: Path | None, identity: str, *, keeps_texts: bool = True) -> None:
        self._path = path if path and path.parent.is_dir() else None
        self._identity = f"{FORMAT} {identity}"
        self._keeps_texts = keeps_texts
        self.db = self._open()

    @classmethod
    def load(cls, data: bytes, identity: str) -> Self:
        """What `dump` returned, in memory and without texts. Raises DamagedIndexError."""
        loaded = cls(None, identity, keeps_texts=False)
        try:
            loaded.db = Database(None, SCHEMA, data)
            is_ours = loaded._is_ours(loaded.db)
        except (ConfigurationError, sqlite3.DatabaseError) as error:
            raise DamagedIndexError from error
        if not is_ours:
            raise DamagedIndexError
        return loaded

    def dump(self) -> bytes:
        with self.db.transaction() as connection:
            return connection.serialize()

    def _open(self) -> Database:
        for _ in range(2 if self._path else 0):
            try:
                db = Database(self._path, SCHEMA)
                if self._is_ours(db):
                    return db
            except (ConfigurationError, sqlite3.DatabaseError) as error:
                if not is_damage(error.__cause__ or error):
                    break
            self._remove()
        db = Database(None, SCHEMA)
        self._is_ours(db)
        return db

    def _is_ours(self, db: Database) -> bool:
        query = "SELECT value FROM about WHERE name = 'identity'"
        if db.row(query) is None:
            with db.transaction() as connection:
                insert = "INSERT OR IGNORE INTO about VALUES ('identity', ?)"
                connection.execute(insert, (self._identity,))
                settings = [("hashsize", PIECE_BYTES), ("automerge", MERGED_PIECES)]
                connection.executemany("INSERT INTO words (words, rank) VALUES (?, ?)", settings)
        return db.row(query) == (self._identity,) and db.row(_IS_WHOLE) == (1,)

    def _remove(self) -> None:
        assert self._path is not None
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(f"{self._path.name}{suffix}").unlink()

    def reset(self) -> None:
        """Begin again with an empty index."""
        if self._path:
            self._remove()
        self.db = self._open()

    def use_memory(self) -> None:
        """Begin again where nothing can be written."""
        self._path = None
        self.db = self._open()

    @property
    def state(self) -> str:
        row = self.db.row("SELECT value FROM about WHERE name = 'state'")
        return row[0] if row else ""

    def set_state(self, state: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO about VALUES ('state', ?)", (state,))

    def versions(self) -> dict[str, str]:
        return {
            load_name(name): version
            for name, version in self.db.rows("SELECT name, version FROM files")
        }

    def count_files(self) -> int:
        return int(self.db.rows("SELECT count(*) FROM files")[0][0])

    def apply(self, changes: Iterable[FileChange]) -> None:
        batch: dict[str, ParsedChange] = {}
        most = BATCH if self._path else BATCH_IN_MEMORY
        characters, most_characters = 0, FIRST_BATCH_CHARACTERS
        with closing(self._parse(changes)) as all_parsed:
            for change, parsed in all_parsed:
                batch[change.name] = change, parsed
                characters += len(change.text or "")
                if len(batch) == most or characters > most_characters:
                    self._write(batch)
                    batch, characters, most_characters = {}, 0, BATCH_CHARACTERS
            self._write(batch)

    def _parse(self, changes: Iterable[FileChange]) -> Generator["ParsedChange"]:
        """Usually few files have changed. If many have, other processes parse the rest."""
        rest = iter(changes)
        documents = 0
        for change in rest:
            yield change, None
            documents += change.text is not None
            if documents >= PARSED_HERE:
                from idea_explorer.adapters.research_index.parsing import parse_changes

                yield from parse_changes(rest, self._list_indexed)

    def _list_indexed(self) -> set[tuple[bytes, bytes]]:
        query = "SELECT name, text_hash FROM files JOIN documents ON id = document"
        return {(name, text_hash) for name, text_hash in self.db.rows(query)}

    def _write(self, batch: Mapping[str, "ParsedChange"]) -> None:
        """Texts are parsed before the transaction, for which others wait."""
        stored = self._find_stored(batch)
        steps = [
            step
            for change, parsed in batch.values()
            if (step := self._plan(change, parsed, stored.get(store_name(change.name))))
        ]
        if steps:
            with self.db.transaction() as connection:
                writer = Writer(connection)
                for step in steps:
                    step(writer)
                writer.finish()

    def _find_stored(self, batch: Iterable[str]) -> dict[bytes, Stored]:
        """What is stored of these files. Names that follow each other, as those of a folder that is new do,
        are found by one query."""
        names = sorted(map(store_name, batch))
        ranges = (
            [(names[0], names[-1])]
            if len(names) >= RANGE_QUERY_FROM
            else [(name, name) for name in names]
        )
        rows = (row for both in ranges for row in self.db.rows(_STORED, both))
        return {name: tuple(stored) for name, *stored in rows}

    def _plan(
        self, change: FileChange, parsed: ParsedText | None, row: Stored | None
    ) -> Step | None:
        """How to write a change; None if that is what is stored."""
        name, version, size, text = change.name, change.version, change.size, change.text
        if version is None:
            return (lambda writer: writer.remove_file(name)) if row else None
        text_hash = None if text is None else hash_content(make_storable(text))
        if row == (version, size, text_hash):
            return None
        if row and row[2] == text_hash:
            return lambda writer: writer.put_version(name, version, size)
        if text is None:
            return lambda writer: writer.put_file(name, version, size)
        document = prepare_document(name, version, size, text, parsed)
        if not self._keeps_texts:
            document = replace(document, text=None)
        return lambda writer: writer.put_document(document)

    def put_documents(self, documents: Iterable[NewDocument]) -> None:
        with self.db.transaction() as connection:
            writer = Writer(connection)
            for document in documents:
                writer.put_document(document)
            writer.finish()


# of the machine, not of the file
_NOT_DAMAGE = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}


def is_damage(error: BaseException) -> bool:
    """Whether a file that causes this error has to be thrown away."""
    if isinstance(error, sqlite3.DatabaseError):
        return _code(error) not in _NOT_DAMAGE
    return isinstance(error, DamagedIndexError)


def is_busy(error: sqlite3.DatabaseError) -> bool:
    return _code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _code(error: sqlite3.DatabaseError) -> int:
    # the other bits say what of it
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
