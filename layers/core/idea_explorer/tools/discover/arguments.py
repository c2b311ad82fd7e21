"""The arguments of the five tools of music discovery."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from idea_explorer.agent.toolset import Arguments, Rule
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.music import Isrc
from idea_explorer.domain.text import is_blank

MAX_PLAYLIST = 50
MAX_ISRCS = 100
EXAMPLE_PLAYLIST: JsonObject = {
    "title": "Rain on the Ring Road",
    "tracks": [
        {
            "isrc": "ZZMDN2000002",
            "title": "Exit 17",
            "artist": "Midnight Overpass",
            "reasoning": "Opens where the drive does: at a turning she cannot take.",
        }
    ],
}


def _require_text(text: str) -> str:
    if is_blank(text):
        raise ValueError("must not be blank")
    return text


class SemanticSearch(Arguments):
    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2_000,
            description="What the music is about, as a full phrase",
        ),
        Rule("non-empty description of a mood or theme, at most 2,000 characters"),
    ]
    limit: Annotated[int, Field(ge=1, le=50), Rule("integer from 1 to 50")] = 20


class TidalSearch(Arguments):
    query: Annotated[
        str,
        Field(min_length=1, max_length=500, description="Words of a name"),
        Rule("non-empty name to look for, at most 500 characters"),
    ]
    # camel case, because the contract names it so
    searchType: Annotated[  # noqa: N815
        Literal["tracks", "albums", "both"],
        Rule("one of: tracks, albums, both"),
    ] = "both"
    limit: Annotated[
        int, Field(ge=1, le=100, description="Of each"), Rule("integer from 1 to 100")
    ] = 20


class AlbumTracks(Arguments):
    albumId: Annotated[  # noqa: N815
        str,
        Field(min_length=1, max_length=100, description="An albumId that tidalSearch returned"),
        Rule("non-empty albumId from tidalSearch"),
    ]


class BatchMetadata(Arguments):
    isrcs: Annotated[
        list[Isrc],
        Field(min_length=1, max_length=MAX_ISRCS, description="ISRCs as a search returned them"),
        Rule("list of 1 to 100 ISRCs, 12 letters and digits each"),
    ]


class Suggestion(BaseModel, strict=True, extra="forbid", frozen=True):
    isrc: Isrc
    title: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_require_text)]
    artist: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_require_text)]
    reasoning: Annotated[
        str,
        Field(min_length=1, max_length=1_000, description="Why this track, for this listener"),
        AfterValidator(_require_text),
    ]


class SuggestPlaylist(Arguments):
    title: Annotated[
        str,
        Field(min_length=1, max_length=200),
        Rule("non-empty title, at most 200 characters"),
    ]
    tracks: Annotated[
        list[Suggestion],
        Field(
            min_length=1,
            max_length=MAX_PLAYLIST,
            description="In the order in which they are to be heard",
        ),
        Rule("list of 1 to 50 tracks with isrc, title, artist and reasoning"),
    ]
