"""The discover toolset: music by meaning, a catalogue, and what the listener owns."""

from idea_explorer.agent.toolset import Tool, Toolset
from idea_explorer.domain.deadline import Clock
from idea_explorer.ports import Log
from idea_explorer.ports.music import Catalogue, Library, TrackIndex
from idea_explorer.tools.discover.arguments import (
    AlbumTracks,
    BatchMetadata,
    SemanticSearch,
    SuggestPlaylist,
    TidalSearch,
)
from idea_explorer.tools.discover.calls import DiscoverCalls
from idea_explorer.tools.discover.flags import LOOKUP_SECONDS

TIME_LIMIT = 3.0  # both tries and the pause between them: a listener is waiting


def discover_tools(
    index: TrackIndex,
    library: Library,
    catalogue: Catalogue | None,
    clock: Clock,
    log: Log,
    *,
    lookup_seconds: float = LOOKUP_SECONDS,
) -> Toolset:
    """All five, always: without a catalogue its two tools say what is missing."""
    calls = DiscoverCalls(index, library, catalogue, clock, log, lookup_seconds)
    return Toolset(
        [
            Tool(
                name="semanticSearch",
                description=(
                    "Find indexed tracks by meaning: mood, theme, story, atmosphere, setting, what the"
                    " lyrics are about. Returns short descriptions, best first. It does NOT understand"
                    " artist names, titles, albums, years, tempo or key (use tidalSearch for names),"
                    ' and it does NOT understand exclusion: "not sad" finds sad songs.'
                ),
                arguments=SemanticSearch,
                run=calls.semantic_search,
                example={"query": "quiet resignation after a breakup, night, empty streets"},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="tidalSearch",
                description=(
                    "Find tracks and albums in Tidal's catalogue by the words of their title, artist"
                    " or album. It does NOT understand moods, themes or descriptions: 'songs for a"
                    " rainy drive' finds songs that are called so (use semanticSearch for moods)."
                ),
                arguments=TidalSearch,
                run=calls.tidal_search,
                example={"query": "Nina Simone Baltimore", "searchType": "albums", "limit": 5},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="albumTracks",
                description=(
                    "List the tracks of one album in Tidal's catalogue, in order. It takes an albumId"
                    " from tidalSearch and does NOT understand titles or artists."
                ),
                arguments=AlbumTracks,
                run=calls.album_tracks,
                example={"albumId": "75413016"},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="batchMetadata",
                description=(
                    "Get the full descriptions of indexed tracks by ISRC, up to 100 in one call. Use"
                    " it for the three to five tracks that the choice hangs on. It does NOT search and"
                    " does NOT take titles or artists; what is not indexed stands in notFound."
                ),
                arguments=BatchMetadata,
                run=calls.batch_metadata,
                example={"isrcs": ["ZZMDN2000002", "ZZHRR1900001"]},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="suggestPlaylist",
                description=(
                    "Lay the finished playlist before the listener, in listening order, with a reason"
                    " for every track. It does NOT search or check anything: give it only tracks that"
                    " the other tools returned, with the ISRC as it was given."
                ),
                arguments=SuggestPlaylist,
                run=calls.suggest_playlist,
                example={
                    "title": "Rain on the Ring Road",
                    "tracks": [
                        {
                            "isrc": "ZZMDN2000002",
                            "title": "Exit 17",
                            "artist": "Midnight Overpass",
                            "reasoning": "Opens where the drive does: at a turning she cannot take.",
                        }
                    ],
                },
                time_limit=TIME_LIMIT,
            ),
        ]
    )
