"""What the tools of a run have shown of each track, for the playlist at its end."""

from collections.abc import Sequence
from dataclasses import field, replace

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.music import CatalogueTrack, IndexedTrack
from idea_explorer.domain.transcript import AnyEntry, ToolsRan


@dataclass(frozen=True)
class TrackMemory:
    """Albums by ISRC, and tracks as the catalogue has them. After a resume, the albums are read from the
    transcript; what else the catalogue knows is looked up again."""

    _albums: dict[str, str] = field(default_factory=dict)
    _catalogued: dict[str, CatalogueTrack] = field(default_factory=dict)

    def add(self, track: IndexedTrack | CatalogueTrack) -> None:
        if track.isrc is None:
            return
        if track.album:
            self._albums[track.isrc] = track.album
        if isinstance(track, CatalogueTrack) and track.tidal_id:
            self._catalogued[track.isrc] = track

    def knows(self, isrc: str) -> bool:
        """Whether the catalogue has shown the track in this process."""
        return isrc in self._catalogued

    def complete(self, track: CatalogueTrack) -> CatalogueTrack:
        """The track with all that is known of it besides."""
        isrc = track.isrc or ""
        known = self._catalogued.get(isrc)
        if known is None:
            return replace(track, album=self._albums.get(isrc))
        return replace(known, title=track.title, artist=track.artist, album=self._albums.get(isrc))

    def read(self, entries: Sequence[AnyEntry]) -> None:
        for entry in entries:
            for result in entry.results if isinstance(entry, ToolsRan) else ():
                tracks = result.payload.get("tracks")
                for track in tracks if isinstance(tracks, list) else []:
                    if isinstance(track, dict):
                        self._read_album(track)

    def _read_album(self, track: JsonObject) -> None:
        isrc, album = text_of(track.get("isrc")), text_of(track.get("album"))
        if isrc and album:
            self._albums.setdefault(isrc, album)
