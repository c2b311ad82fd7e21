"""The tracks that the listener owns, in the same SQLite file as the index."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from idea_explorer.adapters.music.sqlite import MusicFile
from idea_explorer.domain.music import OwnedTrack

# The names are in a table of their own: files of earlier versions do not have them.
LIBRARY_SCHEMA = """
CREATE TABLE IF NOT EXISTS library (isrc TEXT PRIMARY KEY, album_key TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS library_by_album ON library (album_key);
CREATE TABLE IF NOT EXISTS library_names (
    isrc TEXT PRIMARY KEY, title TEXT NOT NULL, artist TEXT NOT NULL, album TEXT NOT NULL)
    WITHOUT ROWID;
"""


class SqliteLibrary:
    def __init__(self, path: Path) -> None:
        self._file = MusicFile(path, LIBRARY_SCHEMA)

    def add(self, tracks: Sequence[OwnedTrack]) -> None:
        """All of them or, where anything fails, none."""
        with self._file.writing() as db:
            db.executemany(
                "INSERT INTO library VALUES (?, ?)"
                " ON CONFLICT (isrc) DO UPDATE SET album_key = coalesce(excluded.album_key, album_key)",
                [(track.isrc, track.album_key) for track in tracks],
            )
            db.executemany(
                "INSERT OR REPLACE INTO library_names VALUES (?, ?, ?, ?)",
                [(track.isrc, track.title, track.artist, track.album) for track in tracks],
            )

    def tracks(self) -> Sequence[OwnedTrack]:
        rows = self._file.rows(
            "SELECT isrc, coalesce(title, ''), coalesce(artist, ''), coalesce(album, '')"
            " FROM library LEFT JOIN library_names USING (isrc) ORDER BY 3, 4, 2, 1"
        )
        return [
            OwnedTrack(isrc=isrc, title=title, artist=artist, album=album)
            for isrc, title, artist, album in rows
        ]

    def remove(self, isrcs: Collection[str]) -> None:
        """All of them or, where anything fails, none."""
        wanted = (json.dumps([*isrcs]),)
        with self._file.writing() as db:
            db.execute(
                "DELETE FROM library_names WHERE isrc IN (SELECT value FROM json_each(?))", wanted
            )
            db.execute("DELETE FROM library WHERE isrc IN (SELECT value FROM json_each(?))", wanted)

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]:
        return self._file.present("library", "isrc", isrcs)

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        return self._file.present("library", "album_key", keys)
