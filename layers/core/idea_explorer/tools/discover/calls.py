"""The five tools of music discovery over an index, a library and a catalogue."""

from collections.abc import Collection, Sequence

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import MissingError, ToolError
from idea_explorer.domain.evidence import Passage, passage
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.music import CatalogueAlbum, CatalogueTrack, IndexedTrack
from idea_explorer.domain.tools import ToolOutput
from idea_explorer.ports import Log
from idea_explorer.ports.music import Catalogue, CatalogueKind, Library, TrackIndex
from idea_explorer.tools.discover.arguments import (
    AlbumTracks,
    BatchMetadata,
    SemanticSearch,
    SuggestPlaylist,
    TidalSearch,
)
from idea_explorer.tools.discover.flags import Flag, Flags, Kind, Question, Source, any_of, look_up

KINDS: dict[str, Sequence[CatalogueKind]] = {
    "tracks": ("tracks",),
    "albums": ("albums",),
    "both": ("tracks", "albums"),
}
NO_CATALOGUE = (
    "The Tidal catalogue is not set up: TIDAL_CLIENT_ID and TIDAL_CLIENT_SECRET are missing."
)
BY_WORDS = "by words only: nothing here tells what texts mean"
EMPTY = "the index is empty: add tracks with 'idea index FILE'"


class DiscoverCalls:
    """Remembers the albums of tracks it has shown, so that a playlist can name them again."""

    def __init__(
        self,
        index: TrackIndex,
        library: Library,
        catalogue: Catalogue | None,
        clock: Clock,
        log: Log,
        lookup_seconds: float,
    ) -> None:
        self._index = index
        self._library = library
        self._catalogue = catalogue
        self._clock = clock
        self._log = log
        self._lookup_seconds = lookup_seconds
        self._albums: dict[str, str] = {}

    def semantic_search(self, arguments: SemanticSearch) -> ToolOutput:
        began = self._clock.monotonic()
        found = self._index.search(arguments.query, arguments.limit)
        tracks = [hit.track for hit in found.hits]
        flags = self._flags(isrcs=[track.isrc for track in tracks], ask_index=False)
        notes = [
            *([EMPTY] if found.index_is_empty else []),
            *([BY_WORDS] if not found.by_meaning and not found.index_is_empty else []),
            *flags.notes,
        ]
        return self._output(
            began,
            _summary(f"Found {_count(found.total, 'track')} matching '{arguments.query}'", notes),
            {
                "query": arguments.query,
                "tracks": [
                    {
                        **self._track(hit.track, flags, indexed=True),
                        "score": hit.score,
                        "shortDescription": hit.track.short_description,
                    }
                    for hit in found.hits
                ],
                "totalFound": found.total,
            },
            len(tracks),
            [_passage(track, track.short_description) for track in tracks],
        )

    def tidal_search(self, arguments: TidalSearch) -> ToolOutput:
        began = self._clock.monotonic()
        kinds = KINDS[arguments.searchType]
        found = self._configured().search(arguments.query, kinds, arguments.limit)
        flags = self._flags(
            isrcs=_isrcs(found.tracks), albums=[album.key for album in found.albums]
        )
        counts = {"tracks": len(found.tracks), "albums": len(found.albums)}
        said = " and ".join(_count(counts[kind], kind.removesuffix("s")) for kind in kinds)
        total = sum(counts.values())
        return self._output(
            began,
            _summary(f"Found {said} matching '{arguments.query}'", flags.notes),
            {
                "query": arguments.query,
                "searchType": arguments.searchType,
                "tracks": [self._track(track, flags) for track in found.tracks],
                "albums": [_album(album, flags) for album in found.albums],
                "totalFound": total,
            },
            total,
        )

    def album_tracks(self, arguments: AlbumTracks) -> ToolOutput:
        began = self._clock.monotonic()
        try:
            album, tracks = self._configured().album(arguments.albumId)
        except MissingError as error:
            raise ToolError("not_found", f"Album not found: {arguments.albumId}") from error
        flags = self._flags(isrcs=_isrcs(tracks))
        shown = [self._track(track, flags) for track in tracks]
        expected = album.track_count or len(tracks)
        told = f"{len(tracks)} of {expected}" if len(tracks) < expected else str(len(tracks))
        return self._output(
            began,
            _summary(f"Found {told} tracks on '{album.title}'", flags.notes),
            {
                "album": {
                    **_album(album, flags),
                    "inLibrary": any_of(_flag(track, "inLibrary") for track in shown),
                    "isIndexed": any_of(_flag(track, "isIndexed") for track in shown),
                },
                "tracks": [*shown],
            },
            len(tracks),
        )

    def batch_metadata(self, arguments: BatchMetadata) -> ToolOutput:
        began = self._clock.monotonic()
        wanted = list(dict.fromkeys(arguments.isrcs))
        known = {track.isrc: track for track in self._index.get(wanted)}
        tracks = [known[isrc] for isrc in wanted if isrc in known]
        flags = self._flags(isrcs=[track.isrc for track in tracks], ask_index=False)
        return self._output(
            began,
            _summary(f"Found details of {len(tracks)} of {len(wanted)} tracks", flags.notes),
            {
                "tracks": [
                    {
                        **self._track(track, flags, indexed=True),
                        "description": track.description,
                    }
                    for track in tracks
                ],
                "found": len(tracks),
                "notFound": [isrc for isrc in wanted if isrc not in known],
            },
            len(tracks),
            [_passage(track, track.description) for track in tracks],
        )

    def suggest_playlist(self, arguments: SuggestPlaylist) -> ToolOutput:
        began = self._clock.monotonic()
        isrcs = list(dict.fromkeys(track.isrc for track in arguments.tracks))
        flags = self._flags(isrcs=isrcs, remember=True)
        return self._output(
            began,
            _summary(
                f"Suggested '{arguments.title}' with {_count(len(arguments.tracks), 'track')}",
                flags.notes,
            ),
            {
                "title": arguments.title,
                "tracks": [
                    {
                        **self._track(
                            CatalogueTrack(
                                isrc=track.isrc,
                                title=track.title,
                                artist=track.artist,
                                album=self._albums.get(track.isrc),
                            ),
                            flags,
                        ),
                        "reasoning": track.reasoning,
                    }
                    for track in arguments.tracks
                ],
            },
            len(arguments.tracks),
        )

    def _configured(self) -> Catalogue:
        if self._catalogue is None:
            raise ToolError("auth_failed", NO_CATALOGUE)
        return self._catalogue

    def _flags(
        self,
        *,
        isrcs: Collection[str],
        albums: Collection[str] = (),
        ask_index: bool = True,
        remember: bool = False,
    ) -> Flags:
        """Ask library and index once each about the tracks, and once each about the albums."""

        def indexed() -> frozenset[str]:
            if not remember:
                return self._index.known_isrcs(isrcs)
            tracks = self._index.get(isrcs)
            self._albums.update({track.isrc: track.album for track in tracks})
            return frozenset(track.isrc for track in tracks)

        questions: dict[tuple[Source, Kind], Question] = {}
        if isrcs:
            questions["library", "tracks"] = lambda: self._library.known_isrcs(isrcs)
        if albums:
            questions["library", "albums"] = lambda: self._library.known_albums(albums)
        if isrcs and ask_index:
            questions["index", "tracks"] = indexed
        if albums and ask_index:
            questions["index", "albums"] = lambda: self._index.known_albums(albums)
        return look_up(questions, self._log, self._lookup_seconds)

    def _track(
        self, track: IndexedTrack | CatalogueTrack, flags: Flags, *, indexed: Flag = None
    ) -> JsonObject:
        if track.isrc and track.album:
            self._albums[track.isrc] = track.album
        return {
            "isrc": track.isrc,
            "title": track.title,
            "artist": track.artist,
            "album": track.album,
            "inLibrary": flags.of("library", "tracks", track.isrc),
            "isIndexed": indexed or flags.of("index", "tracks", track.isrc),
        }

    def _output(
        self,
        began: float,
        summary: str,
        fields: JsonObject,
        count: int,
        passages: Sequence[Passage] = (),
    ) -> ToolOutput:
        duration = round((self._clock.monotonic() - began) * 1_000)
        return ToolOutput(
            fields={**fields, "summary": summary, "durationMs": duration},
            summary=summary,
            result_count=count,
            passages=tuple(passages),
        )


def _album(album: CatalogueAlbum, flags: Flags) -> JsonObject:
    return {
        "albumId": album.album_id,
        "title": album.title,
        "artist": album.artist,
        "releaseDate": album.release_date,
        "trackCount": album.track_count,
        "inLibrary": flags.of("library", "albums", album.key),
        "isIndexed": flags.of("index", "albums", album.key),
    }


def _isrcs(tracks: Sequence[CatalogueTrack]) -> list[str]:
    return list(dict.fromkeys(track.isrc for track in tracks if track.isrc))


def _flag(shown: JsonObject, name: str) -> Flag:
    value = shown[name]
    return value if isinstance(value, bool) else None


def _passage(track: IndexedTrack, text: str) -> Passage:
    return passage(f"isrc:{track.isrc}", text, title=f"{track.title} – {track.artist}")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}s"


def _summary(said: str, notes: Sequence[str]) -> str:
    return f"{said} ({'; '.join(notes)})" if notes else said
