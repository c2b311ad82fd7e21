"""The SQLite file that holds the embedded music index and library."""

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.errors import ExternalError


class MusicFile:
    """Failures are ExternalError, as of any other system that a tool asks."""

    def __init__(self, path: Path, schema: str) -> None:
        self._database = Database(path, schema)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Everything inside happens, or nothing."""
        with _clear_failures("written"), self._database.transaction() as connection:
            yield connection

    def settle(self) -> None:
        """Fold the log of a large write into the file, unless somebody is reading just then."""
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with _clear_failures("read"):
            return self._database.rows(query, values)

    def present(self, table: str, column: str, values: Collection[str]) -> frozenset[str]:
        """Which of the values stand in the column, by one statement however many there are."""
        # table and column are this package's own words, never a caller's
        rows = self.rows(
            f"SELECT DISTINCT {column} FROM {table}"  # noqa: S608
            f" WHERE {column} IN (SELECT value FROM json_each(?))",
            (json.dumps([*values]),),
        )
        return frozenset(value for (value,) in rows)

    @property
    def version(self) -> int:
        """Changes when another connection has written."""
        ((version,),) = self.rows("PRAGMA data_version")
        return int(version)


@contextmanager
def _clear_failures(action: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise ExternalError(f"The music file could not be {action}: {error}.") from error
