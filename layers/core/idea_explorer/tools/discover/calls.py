"""The five tools of music discovery: an index, the listener's library, and a catalogue."""

from collections.abc import Collection, Sequence
from dataclasses import field

from idea_explorer.agent.toolset import tool
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import MissingError, ToolError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.music import CatalogueAlbum, CatalogueTrack, IndexedTrack
from idea_explorer.domain.text import pluralize
from idea_explorer.domain.tools import Passage, ToolResult, make_passage
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.ports import Log
from idea_explorer.ports.music import Catalogue, CatalogueKind, Library, TrackIndex
from idea_explorer.tools.discover.arguments import (
    EXAMPLE_PLAYLIST,
    AlbumTracks,
    BatchMetadata,
    SemanticSearch,
    Suggestion,
    SuggestPlaylist,
    TidalSearch,
)
from idea_explorer.tools.discover.flags import (
    LOOKUP_SECONDS,
    PLAYLIST_SECONDS,
    Flag,
    Flags,
    Kind,
    Question,
    Source,
    any_of,
    look_up,
)
from idea_explorer.tools.discover.memory import TrackMemory

KINDS: dict[str, Sequence[CatalogueKind]] = {
    "tracks": ("tracks",),
    "albums": ("albums",),
    "both": ("tracks", "albums"),
}
NO_CATALOGUE = (
    "The Tidal catalogue is not set up: TIDAL_CLIENT_ID and TIDAL_CLIENT_SECRET are missing."
)
BY_WORDS = "by words only: nothing here tells what texts mean"
CUT_SHORT = "Tidal was slow: there may be more"
EMPTY = "the index is empty: add tracks with 'idea index FILE'"


@dataclass(frozen=True)
class DiscoverCalls:
    """The tools. They remember the tracks they have returned, to say more about them in a playlist."""

    index: TrackIndex
    library: Library
    catalogue: Catalogue | None
    log: Log
    lookup_seconds: float | None = None  # otherwise as long as the kind of call allows
    _memory: TrackMemory = field(default_factory=TrackMemory)

    def read_transcript(self, entries: Sequence[AnyEntry]) -> None:
        self._memory.read(entries)

    @tool(
        example={"query": "quiet resignation after a breakup, night, empty streets"},
        name="semanticSearch",
    )
    def semantic_search(self, arguments: SemanticSearch) -> ToolResult:
        """Find indexed tracks by meaning: mood, theme, story, atmosphere, setting, what the lyrics are
        about. It does NOT understand artist names, titles, albums, years, tempo or key (use tidalSearch for
        names), nor exclusion: "not sad" finds sad songs."""
        found = self.index.search(arguments.query, arguments.limit)
        tracks = [hit.track for hit in found.hits]
        flags = self._flags(isrcs=[track.isrc for track in tracks], ask_index=False)
        notes = [
            *([EMPTY] if found.index_is_empty else []),
            *([BY_WORDS] if not found.by_meaning and not found.index_is_empty else []),
            *flags.notes,
        ]
        return ToolResult.success(
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
            _summary(
                f"Found {pluralize(found.total, 'track')} matching '{arguments.query}'", notes
            ),
            result_count=len(tracks),
            passages=[_passage(track, track.short_description) for track in tracks],
        )

    @tool(
        example={"query": "Nina Simone Baltimore", "searchType": "albums", "limit": 5},
        name="tidalSearch",
    )
    def tidal_search(self, arguments: TidalSearch) -> ToolResult:
        """Find tracks and albums in Tidal's catalogue by the words of their title, artist or album. It does
        NOT understand moods, themes or descriptions (use semanticSearch): 'songs for a rainy drive' finds
        songs that are called so."""
        kinds = KINDS[arguments.searchType]
        found = self._configured().search(arguments.query, kinds, arguments.limit)
        flags = self._flags(
            isrcs=_isrcs(found.tracks), albums=[album.key for album in found.albums]
        )
        counts = {"tracks": len(found.tracks), "albums": len(found.albums)}
        said = " and ".join(pluralize(counts[kind], kind.removesuffix("s")) for kind in kinds)
        total = sum(counts.values())
        return ToolResult.success(
            {
                "query": arguments.query,
                "searchType": arguments.searchType,
                "tracks": [self._track(track, flags) for track in found.tracks],
                "albums": [_album(album, flags) for album in found.albums],
                "totalFound": total,
            },
            _summary(
                f"Found {said} matching '{arguments.query}'",
                [*([CUT_SHORT] if found.cut_short else []), *flags.notes],
            ),
            result_count=total,
        )

    @tool(example={"albumId": "75413016"}, name="albumTracks")
    def album_tracks(self, arguments: AlbumTracks) -> ToolResult:
        """List the tracks of one album in Tidal's catalogue, in order. It does NOT understand titles or
        artists."""
        try:
            album, tracks = self._configured().album(arguments.albumId)
        except MissingError as error:
            raise ToolError("not_found", f"Album not found: {arguments.albumId}") from error
        flags = self._flags(isrcs=_isrcs(tracks))
        expected = album.track_count or len(tracks)
        told = f"{len(tracks)} of " if len(tracks) < expected else ""
        return ToolResult.success(
            {
                "album": {
                    **_album(album, flags),
                    "inLibrary": any_of(flags.of("library", "tracks", t.isrc) for t in tracks),
                    "isIndexed": any_of(flags.of("index", "tracks", t.isrc) for t in tracks),
                },
                "tracks": [self._track(track, flags) for track in tracks],
            },
            _summary(
                f"Found {told}{pluralize(max(expected, len(tracks)), 'track')} on '{album.title}'",
                flags.notes,
            ),
            result_count=len(tracks),
        )

    @tool(example={"isrcs": ["ZZMDN2000002", "ZZHRR1900001"]}, name="batchMetadata")
    def batch_metadata(self, arguments: BatchMetadata) -> ToolResult:
        """Get the full descriptions of indexed tracks by ISRC. It does NOT search and does NOT take titles
        or artists; what is not indexed stands in notFound."""
        wanted = list(dict.fromkeys(arguments.isrcs))
        known = {track.isrc: track for track in self.index.get(wanted)}
        tracks = [known[isrc] for isrc in wanted if isrc in known]
        flags = self._flags(isrcs=[track.isrc for track in tracks], ask_index=False)
        return ToolResult.success(
            {
                "tracks": [
                    {**self._track(track, flags, indexed=True), "description": track.description}
                    for track in tracks
                ],
                "found": len(tracks),
                "notFound": [isrc for isrc in wanted if isrc not in known],
            },
            _summary(
                f"Found details of {len(tracks)} of {pluralize(len(wanted), 'track')}", flags.notes
            ),
            result_count=len(tracks),
            passages=[_passage(track, track.description) for track in tracks],
        )

    @tool(example=EXAMPLE_PLAYLIST, name="suggestPlaylist")
    def suggest_playlist(self, arguments: SuggestPlaylist) -> ToolResult:
        """Lay the finished playlist before the listener. It does NOT search or check anything: give it only
        tracks that the other tools returned, with their ISRC; a track without one cannot go in."""
        isrcs = list(dict.fromkeys(track.isrc for track in arguments.tracks))
        flags = self._flags(isrcs=isrcs, complete=True)
        return ToolResult.success(
            {
                "title": arguments.title,
                "tracks": [
                    {**self._suggestion(suggestion, flags), "reasoning": suggestion.reasoning}
                    for suggestion in arguments.tracks
                ],
            },
            _summary(
                f"Suggested '{arguments.title}' with {pluralize(len(arguments.tracks), 'track')}",
                flags.notes,
            ),
            result_count=len(arguments.tracks),
        )

    def _configured(self) -> Catalogue:
        if self.catalogue is None:
            raise ToolError("auth_failed", NO_CATALOGUE)
        return self.catalogue

    def _flags(
        self,
        *,
        isrcs: Collection[str],
        albums: Collection[str] = (),
        ask_index: bool = True,
        complete: bool = False,
    ) -> Flags:
        """Look up all tracks and all albums at once in the library and the index. `complete` asks the index
        for the tracks themselves, and the catalogue for those that it has not shown yet."""

        def indexed() -> frozenset[str]:
            return self._remember(self.index.get(isrcs))

        questions: dict[tuple[Source, Kind], Question] = {}
        if isrcs:
            questions["library", "tracks"] = lambda: self.library.known_isrcs(isrcs)
        if albums:
            questions["library", "albums"] = lambda: self.library.known_albums(albums)
        if isrcs and ask_index:
            questions["index", "tracks"] = (
                indexed if complete else lambda: self.index.known_isrcs(isrcs)
            )
        if albums and ask_index:
            questions["index", "albums"] = lambda: self.index.known_albums(albums)
        missing = [isrc for isrc in isrcs if not self._memory.knows(isrc)] if complete else []
        if missing and (catalogue := self.catalogue):
            questions["catalogue", "tracks"] = lambda: self._remember(catalogue.tracks(missing))
        seconds = PLAYLIST_SECONDS if complete else LOOKUP_SECONDS
        return look_up(questions, self.log, self.lookup_seconds or seconds)

    def _remember(self, tracks: Sequence[IndexedTrack | CatalogueTrack]) -> frozenset[str]:
        for track in tracks:
            self._memory.add(track)
        return frozenset(track.isrc for track in tracks if track.isrc)

    def _suggestion(self, suggestion: Suggestion, flags: Flags) -> JsonObject:
        named = CatalogueTrack(suggestion.isrc, suggestion.title, suggestion.artist, None)
        track = self._memory.complete(named)
        return {
            **self._track(track, flags),
            "tidalId": track.tidal_id,
            "durationSeconds": track.duration_seconds,
            "url": track.url,
            "artworkUrl": track.artwork_url,
        }

    def _track(
        self, track: IndexedTrack | CatalogueTrack, flags: Flags, *, indexed: Flag = None
    ) -> JsonObject:
        self._memory.add(track)
        return {
            "isrc": track.isrc,
            "title": track.title,
            "artist": track.artist,
            "album": track.album,
            "inLibrary": flags.of("library", "tracks", track.isrc),
            "isIndexed": indexed or flags.of("index", "tracks", track.isrc),
        }


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


def _passage(track: IndexedTrack, text: str) -> Passage:
    return make_passage(f"isrc:{track.isrc}", text, title=f"{track.title} – {track.artist}")


def _summary(said: str, notes: Sequence[str]) -> str:
    return f"{said} ({'; '.join(notes)})" if notes else said
