"""The music index in a SQLite file."""

import json
import sqlite3
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import nlargest
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.music import (
    DEPTH,
    IndexedTrack,
    build_matcher,
    extract_words,
    fuse_rankings,
)
from idea_explorer.ports.music import Embedder, FoundTracks, ScoredTrack, Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEW = 5_000  # plain Python compares this many in about forty milliseconds


class Similarity:
    """float32 vectors by id, in memory. Not `available` if there are none, or many and numpy is missing.

    A few are compared in plain Python, which takes less time than importing numpy. Many need numpy.
    """

    def __init__(self, rows: Sequence[tuple[int, bytes]], few: int = FEW) -> None:
        self._ids = array("q", [row_id for row_id, _ in rows])
        blobs = [blob for _, blob in rows]
        is_few = len(blobs) <= few
        self._few: Sequence[Vector] = [array("f", blob) for blob in blobs] if is_few else []
        self._many = None if is_few else _matrix(blobs)

    @property
    def available(self) -> bool:
        return self._many is not None or bool(self._few)

    def best(self, query: Vector, floor: float, limit: int) -> list[int]:
        """The ids of the closest vectors at or above the floor, closest first."""
        if self._many is not None:
            return self._best_of_many(self._many, query, floor, limit)
        asked = list(query)  # an array would box every number again for each vector
        scores = ((sum(map(mul, asked, vector)), -place) for place, vector in enumerate(self._few))
        best = nlargest(limit, (scored for scored in scores if scored[0] >= floor))
        return [self._ids[-place] for _, place in best]

    def _best_of_many(
        self, matrix: "NDArray[np.float32]", query: Vector, floor: float, limit: int
    ) -> list[int]:
        import numpy as np

        # einsum stays in this thread: for so little work, waking BLAS threads costs more than it saves
        scores: NDArray[np.float32] = np.einsum(
            "ij,j->i", matrix, np.frombuffer(query, dtype=np.float32)
        )
        above = np.flatnonzero(scores >= floor)
        if len(above) > limit:
            above = above[np.argpartition(-scores[above], limit - 1)[:limit]]
        ordered = above[np.lexsort((above, -scores[above]))]
        return [self._ids[int(place)] for place in ordered]


def _matrix(blobs: Sequence[bytes]) -> "NDArray[np.float32] | None":
    try:
        import numpy as np
    except ImportError:
        return None
    return np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(len(blobs), -1)


class MusicFile:
    """Raises ExternalError, as every other system that a tool calls."""

    def __init__(self, path: Path, schema: str) -> None:
        self._database = Database(path, schema)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing."""
        with _map_errors("written"), self._database.transaction() as connection:
            yield connection

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with _map_errors("read"):
            return self._database.rows(query, values)

    def present(self, table: str, column: str, values: Collection[str]) -> frozenset[str]:
        """Which of the values the column contains, in one statement however many there are."""
        rows = self.rows(
            f"SELECT DISTINCT {column} FROM {table}"  # noqa: S608  constants  # nosec B608
            f" WHERE {column} IN (SELECT value FROM json_each(?))",
            (json.dumps([*values]),),
        )
        return frozenset(value for (value,) in rows)


@contextmanager
def _map_errors(action: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise ExternalError(f"The music file could not be {action}: {error}.") from error


MAX_MATCHES = 10_000  # BM25 takes about five microseconds each
BATCH = 500  # texts embedded at once: large enough for a model, small enough for memory
COLUMNS = ("isrc", "title", "artist", "album", "description", "short_description")
INDEX_SCHEMA = """
CREATE TABLE IF NOT EXISTS tracks (
    id INTEGER PRIMARY KEY, isrc TEXT NOT NULL UNIQUE, title TEXT NOT NULL, artist TEXT NOT NULL,
    album TEXT NOT NULL, description TEXT NOT NULL, short_description TEXT NOT NULL,
    album_key TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS tracks_by_album ON tracks (album_key);
CREATE TABLE IF NOT EXISTS track_vectors (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS track_words USING fts5 (
    title, description, content = 'tracks', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2');
CREATE TRIGGER IF NOT EXISTS track_added AFTER INSERT ON tracks BEGIN
    INSERT INTO track_words (rowid, title, description) VALUES (new.id, new.title, new.description);
END;
CREATE TRIGGER IF NOT EXISTS track_removed AFTER DELETE ON tracks BEGIN
    INSERT INTO track_words (track_words, rowid, title, description)
    VALUES ('delete', old.id, old.title, old.description);
    DELETE FROM track_vectors WHERE id = old.id;
END;
"""


class SqliteTrackIndex:
    """Without an embedder it searches by words alone, and says so."""

    def __init__(self, path: Path, embedder: Embedder | None = None) -> None:
        self._file = MusicFile(path, INDEX_SCHEMA)
        self._embedder = embedder
        self._loaded: tuple[int, Similarity] | None = None

    def add(self, tracks: Sequence[IndexedTrack]) -> None:
        """All of them or, where anything fails, none."""
        with self._file.writing() as db:
            for start in range(0, len(tracks), BATCH):
                self._insert(db, tracks[start : start + BATCH])
        self._loaded = None
        # merges the log of a large write into the file, unless somebody is reading it
        self._file.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def search(self, query: str, limit: int) -> FoundTracks:
        by_meaning = self._by_meaning(query)
        rankings, weights = [self._by_words(extract_words(query))], [1.0]
        if by_meaning is not None and self._embedder is not None:
            rankings.append(by_meaning)
            weights.append(self._embedder.weight)
        ranked = fuse_rankings(rankings, weights)
        tracks = self._tracks([row_id for row_id, _ in ranked[:limit]])
        return FoundTracks(
            hits=[ScoredTrack(tracks[row_id], score) for row_id, score in ranked[:limit]],
            total=len(ranked),
            by_meaning=by_meaning is not None,
            index_is_empty=not ranked and not self._file.rows("SELECT 1 FROM tracks LIMIT 1"),
        )

    def get(self, isrcs: Collection[str]) -> Sequence[IndexedTrack]:
        rows = self._file.rows(
            f"SELECT {', '.join(COLUMNS)} FROM tracks"  # noqa: S608  constants  # nosec B608
            " WHERE isrc IN (SELECT value FROM json_each(?))",
            (json.dumps([*isrcs]),),
        )
        return [_track(row) for row in rows]

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]:
        return self._file.present("tracks", "isrc", isrcs)

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        return self._file.present("tracks", "album_key", keys)

    def _by_words(self, words: Sequence[str]) -> list[int]:
        """Ranked by BM25, without tracks that share too few of the words."""
        if not words:
            return []
        rows = self._file.rows(
            "SELECT id, title, description FROM"
            " (SELECT rowid AS found, rank FROM track_words WHERE track_words MATCH ?"
            "  ORDER BY rank LIMIT ?) JOIN tracks ON id = found ORDER BY rank, id",
            (" OR ".join(f'"{word}"' for word in self._pick_rare(words)), DEPTH),
        )
        enough = build_matcher(words)
        return [row_id for row_id, *texts in rows if enough(" ".join(texts))]

    def _pick_rare(self, words: Sequence[str]) -> list[str]:
        """The rarest words, up to a number of matches that can be ranked in time.

        Tracks that share only the most common words with a query would rank last anyway.
        """
        counts = sorted((self._count_matches(word), word) for word in words)
        total, rare = 0, list[str]()
        for count, word in counts:
            if rare and total + count > MAX_MATCHES:
                break
            total += count
            rare.append(word)
        return rare

    def _count_matches(self, word: str) -> int:
        ((count,),) = self._file.rows(
            "SELECT count(*) FROM track_words WHERE track_words MATCH ?", (f'"{word}"',)
        )
        return int(count)

    def _by_meaning(self, query: str) -> list[int] | None:
        """Ranked by similarity; None without an embedder or without vectors."""
        if self._embedder is None:
            return None
        similarity = self._similarity(self._embedder)
        if not similarity.available:
            return None
        (vector,) = self._embedder.embed([query], "query")
        return similarity.best(vector, self._embedder.floor, DEPTH) if any(vector) else []

    def _similarity(self, embedder: Embedder) -> Similarity:
        """Cached until somebody writes to the index."""
        ((version,),) = self._file.rows("PRAGMA data_version")
        if self._loaded is None or self._loaded[0] != version:
            rows = self._file.rows(
                "SELECT id, vector FROM track_vectors WHERE model = ? ORDER BY id", (embedder.name,)
            )
            self._loaded = (version, Similarity(rows))
        return self._loaded[1]

    def _tracks(self, row_ids: Sequence[int]) -> Mapping[int, IndexedTrack]:
        rows = self._file.rows(
            f"SELECT id, {', '.join(COLUMNS)} FROM tracks"  # noqa: S608  constants  # nosec B608
            " WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps([*row_ids]),),
        )
        return {row_id: _track(row) for row_id, *row in rows}

    def _insert(self, db: sqlite3.Connection, tracks: Sequence[IndexedTrack]) -> None:
        vectors = (
            self._embedder.embed([track.text for track in tracks], "document")
            if self._embedder
            else [None] * len(tracks)
        )
        for track, vector in zip(tracks, vectors, strict=True):
            db.execute("DELETE FROM tracks WHERE isrc = ?", (track.isrc,))
            added = db.execute(
                f"INSERT INTO tracks ({', '.join(COLUMNS)}, album_key)"  # noqa: S608  constants  # nosec B608
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*(getattr(track, column) for column in COLUMNS), track.album_key),
            )
            if self._embedder and vector is not None and any(vector):
                db.execute(
                    "INSERT INTO track_vectors VALUES (?, ?, ?)",
                    (added.lastrowid, self._embedder.name, vector.tobytes()),
                )


def _track(row: Sequence[Any]) -> IndexedTrack:
    """Not validated again: it was when it was added."""
    return IndexedTrack.model_construct(None, **dict(zip(COLUMNS, row, strict=True)))
