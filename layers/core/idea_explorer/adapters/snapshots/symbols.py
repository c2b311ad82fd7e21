"""The symbol index in SQLite: a cache that may be deleted at any time."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.code import Definition, Import, ParsedCode
from idea_explorer.domain.errors import ConfigurationError

VERSION = 4  # of the tables and of what the parsers find; any other version is discarded
MAX_BYTES = 268_435_456  # 256 MB: many commits of many repositories; a larger cache is discarded
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS definitions
    (file INT, name TEXT, kind TEXT, line INT, signature TEXT, container TEXT);
CREATE TABLE IF NOT EXISTS imports
    (file INT, target TEXT, line INT, statement TEXT, level INT, bound TEXT, spec TEXT, last TEXT);
CREATE INDEX IF NOT EXISTS definitions_by_name ON definitions (name);
CREATE INDEX IF NOT EXISTS imports_by_last ON imports (last);
CREATE INDEX IF NOT EXISTS imports_by_bound ON imports (bound) WHERE bound != '';
PRAGMA user_version = {VERSION};
"""
_IMPORTS = (
    "SELECT key, target, line, statement, level, bound, spec FROM imports JOIN files ON id = file"
)


class SqliteSymbols:
    """Safe to share between threads and processes."""

    def __init__(self, file: Path) -> None:
        self._db = _open_cache(file)

    def unknown(self, keys: Iterable[str]) -> set[str]:
        wanted = set(keys)
        return wanted.difference(key for (key,) in self._db.rows("SELECT key FROM files"))

    def add(self, parsed: Mapping[str, ParsedCode]) -> None:
        with self._db.transaction() as db:
            for key, found in parsed.items():
                added = db.execute("INSERT OR IGNORE INTO files (key) VALUES (?)", (key,))
                if not added.rowcount:  # another process was faster
                    continue
                file = added.lastrowid
                db.executemany(
                    "INSERT INTO definitions VALUES (?, ?, ?, ?, ?, ?)",
                    [
                        (file, d.name, d.kind, d.line, d.signature, d.container)
                        for d in found.definitions
                    ],
                )
                db.executemany(
                    "INSERT INTO imports VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (file, i.target, i.line, i.statement, i.level, i.bound, i.spec, i.last)
                        for i in found.imports
                    ],
                )

    def definitions(self, name: str) -> Sequence[tuple[str, Definition]]:
        rows = self._db.rows(
            "SELECT key, name, kind, line, signature, container"
            " FROM definitions JOIN files ON id = file WHERE name = ?",
            [name],
        )
        return [(key, Definition(*row)) for key, *row in rows]

    def imports(self, last: str) -> Sequence[tuple[str, Import]]:
        return self._imports("last = ? OR last = ''", last)

    def bindings(self, name: str) -> Sequence[tuple[str, Import]]:
        # written so that each half can use its index
        condition = "(bound != '' AND bound = ?) OR (bound != '' AND last = ?)"
        return self._imports(condition, name, name)

    def _imports(self, condition: str, *values: str) -> Sequence[tuple[str, Import]]:
        rows = self._db.rows(f"{_IMPORTS} WHERE {condition}", values)
        return [(key, Import(*row)) for key, *row in rows]


def _open_cache(file: Path) -> Database:
    """The cache, or a new one if it is damaged, too large or of another version."""
    try:
        if file.is_file() and file.stat().st_size > MAX_BYTES:
            _remove(file)
        if not file.is_file() or _version(file) in {0, VERSION}:
            return Database(file, _SCHEMA)
    except ConfigurationError:
        pass  # damaged, or in a folder that cannot be written to: then the second try fails too
    _remove(file)
    return Database(file, _SCHEMA)


def _version(file: Path) -> int:
    ((version,),) = Database(file, "").rows("PRAGMA user_version")
    return int(version)


def _remove(file: Path) -> None:
    for part in (file, file.with_name(file.name + "-wal"), file.with_name(file.name + "-shm")):
        part.unlink(missing_ok=True)
