"""One SQLite file that holds an index. It can always be built again, so a file that is damaged, of another
version or of other documents is thrown away, and where none can be written the index is kept in memory."""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeAlias

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
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.search_words import make_storable

FORMAT = 2  # to be raised with every change of the tables, or of what is written to them
BATCH = 200  # documents written at once: others wait for that long, and a crash costs no more

# a table that is lost is made again when the file is opened, and then it is empty
_IS_WHOLE = """
SELECT count(document) = (SELECT count(*) FROM documents)
    AND (SELECT count(*) FROM texts) IN (0, count(document)) FROM files
"""

Step: TypeAlias = Callable[[Writer], None]


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
            insert = "INSERT OR IGNORE INTO about VALUES ('identity', ?)"
            db.execute(insert, (self._identity,))
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
        batch: dict[str, FileChange] = {}
        for change in changes:
            batch[change.name] = change
            if len(batch) == BATCH:
                self._write(batch.values())
                batch = {}
        self._write(batch.values())

    def _write(self, batch: Iterable[FileChange]) -> None:
        """Texts are parsed before the transaction, for which others wait."""
        steps = [step for change in batch if (step := self._plan(change))]
        if steps:
            with self.db.transaction() as connection:
                writer = Writer(connection)
                for step in steps:
                    step(writer)
                writer.finish()

    def _plan(self, change: FileChange) -> Step | None:
        """How to write a change; None if that is what is stored."""
        name, version, size, text = change.name, change.version, change.size, change.text
        row = self.db.row(
            "SELECT version, size, text_hash FROM files LEFT JOIN documents ON id = document"
            " WHERE name = ?",
            (store_name(name),),
        )
        if version is None:
            return (lambda writer: writer.remove_file(name)) if row else None
        text_hash = None if text is None else hash_content(make_storable(text))
        if row == (version, size, text_hash):
            return None
        if row and row[2] == text_hash:
            return lambda writer: writer.put_version(name, version, size)
        if text is None:
            return lambda writer: writer.put_file(name, version, size)
        document = prepare_document(name, version, size, text)
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
