"""The listener's library in a SQLite file."""

from collections.abc import Collection, Sequence
from pathlib import Path

from idea_explorer.adapters.music_file import MusicFile
from idea_explorer.domain.music import OwnedTrack

SCHEMA = """
CREATE TABLE IF NOT EXISTS library (isrc TEXT PRIMARY KEY, album_key TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS library_by_album ON library (album_key);
"""


class SqliteLibrary:
    def __init__(self, path: Path) -> None:
        self._file = MusicFile(path, SCHEMA)

    def add(self, tracks: Sequence[OwnedTrack]) -> None:
        """All of them or, where anything fails, none."""
        with self._file.writing() as db:
            db.executemany(
                "INSERT INTO library VALUES (?, ?)"
                " ON CONFLICT (isrc) DO UPDATE SET album_key = coalesce(excluded.album_key, album_key)",
                [(track.isrc, track.album_key) for track in tracks],
            )

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]:
        return self._file.present("library", "isrc", isrcs)

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        return self._file.present("library", "album_key", keys)
