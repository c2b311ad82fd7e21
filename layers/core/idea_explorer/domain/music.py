"""Tracks and albums, and how a query is matched against them.

Titles, descriptions and names come from files and catalogues: data to show, never instructions.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold

MAX_NAME = 500
MAX_DESCRIPTION = 1_500  # a hundred of these still fit into one tool result
MAX_ADDRESS = 300
MAX_SHORT_WORDS = 50  # enough to rule a track out
ISRC_PATTERN = "^[A-Z0-9]{12}$"

_ISRC = lazy_pattern(r"[A-Z0-9]{12}")
_SENTENCE_END = lazy_pattern(r"(?<=[.!?…])\s+")
# Letters, digits and what joins them: nothing that would end a link in Markdown.
_TIDAL_ADDRESS = lazy_pattern(r"https://(?:[a-z]{1,20}[.])?tidal[.]com/[A-Za-z0-9/_.-]+")
_NOT_A_LETTER = lazy_pattern(r"[^\w]+", re.UNICODE)


def normalize_isrc(text: str) -> str:
    """An ISRC in upper case; raises ValueError for anything else."""
    upper = text.upper()
    if not _ISRC.fullmatch(upper):
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise ValueError(
            f"invalid ISRC '{shown}': it has 12 letters and digits, as in GBUM71029604"
        )
    return upper


Isrc = Annotated[
    str, AfterValidator(normalize_isrc), WithJsonSchema({"type": "string", "pattern": ISRC_PATTERN})
]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME)]


class IndexedTrack(DomainModel, frozen=True, populate_by_name=True):
    """One line of a track file and one entry of the index. Unknown fields are ignored."""

    isrc: Isrc
    title: Name
    artist: Name
    album: Name
    description: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_DESCRIPTION)
    ]
    short_description: Annotated[str, Field(alias="shortDescription")] = ""

    @model_validator(mode="after")
    def _fill_short_description(self) -> "IndexedTrack":
        given = self.short_description.strip()
        if len(given.split()) > MAX_SHORT_WORDS:
            raise ValueError(f"shortDescription has more than {MAX_SHORT_WORDS} words")
        # a frozen model cannot be assigned to
        object.__setattr__(self, "short_description", given or shorten(self.description))
        return self

    @property
    def album_key(self) -> str:
        return album_key(self.artist, self.album)

    @property
    def text(self) -> str:
        """The text that is searched: without artist and album, whose names say nothing about the mood."""
        return f"{self.title}. {self.description}"


class OwnedTrack(DomainModel, frozen=True):
    """One line of a library file. Only the ISRC is required; artist and album identify owned albums."""

    isrc: Isrc
    title: Annotated[str, StringConstraints(max_length=MAX_NAME)] = ""
    artist: Annotated[str, StringConstraints(max_length=MAX_NAME)] = ""
    album: Annotated[str, StringConstraints(max_length=MAX_NAME)] = ""

    @property
    def album_key(self) -> str | None:
        return album_key(self.artist, self.album) if self.artist and self.album else None


@dataclass(frozen=True, slots=True)
class CatalogueTrack:
    isrc: str | None
    title: str
    artist: str
    album: str | None
    tidal_id: str | None = None
    duration_seconds: int | None = None
    url: str | None = None
    artwork_url: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogueAlbum:
    album_id: str
    title: str
    artist: str
    release_date: str | None
    track_count: int | None

    @property
    def key(self) -> str:
        return album_key(self.artist, self.title)


def tidal_address(text: object) -> str | None:
    """The text if it is an address at Tidal: nothing else is shown to a listener as a link."""
    if not isinstance(text, str) or len(text) > MAX_ADDRESS or not _TIDAL_ADDRESS.fullmatch(text):
        return None
    return text


def album_key(artist: str, title: str) -> str:
    """One key for all spellings of an album: case, accents and punctuation do not count."""
    return "|".join(" ".join(_NOT_A_LETTER.split(fold(part))).strip() for part in (artist, title))


def shorten(description: str) -> str:
    """The first sentences, up to 50 words; if the first one is longer, it is cut."""
    short: list[str] = []
    for sentence in _SENTENCE_END.split(description):
        words = sentence.split()
        if len(short) + len(words) > MAX_SHORT_WORDS:
            break
        short += words
    return " ".join(short) or " ".join(description.split()[: MAX_SHORT_WORDS - 1]) + " …"


MAX_TERMS = 32  # a longer query ranks no better and takes longer
DEPTH = 100  # how far down each ranking is read: twice the longest answer
RANK_SMOOTHING = 2  # chosen with the weights; docs/discover.md says how
MIN_COVERAGE = 0.25  # a track with fewer of the words has them by accident

_WORD = lazy_pattern(r"\w+", re.UNICODE)
# function words, and words that fit every track
_IGNORED = frozenset(
    _WORD.findall(
        "a about after all also am an and any are as at be because been before being but by can"
        " could d did do does doing don for from had has have having he her here hers him his"
        " how i if in into is it its just ll m me more most my no nor not of off on once only or"
        " other our out over own re s same she should so some something somebody someone such t"
        " than that the their them then there these they this those through to too under until"
        " up us ve very was we were what when where which while who whom why will with would you"
        " your yours give find get like listen make play please put show want music playlist"
        " playlists song songs track tracks tune tunes"
    )
)
_MIN_STEM = 4
_MAX_STEM = 40  # no word is longer, and a pattern of a whole page takes minutes to compile
_MAX_SUFFIX = 3

K = TypeVar("K", bound=Hashable)


def extract_words(query: str) -> list[str]:
    """The meaningful words of a query, each once. Any text is a valid query."""
    words = dict.fromkeys(_WORD.findall(fold(query)))
    return [word for word in words if word not in _IGNORED][:MAX_TERMS]


def build_matcher(words: Sequence[str]) -> Callable[[str], bool]:
    """A test for whether a text contains enough of the words, in any inflection."""
    if not words:
        return lambda _: False
    stems = {word[: min(_MAX_STEM, max(_MIN_STEM, len(word) - _MAX_SUFFIX))] for word in words}
    # compiled here: what `lazy_pattern` compiles is kept on disk, and these are words of people
    pattern = re.compile(r"\b(?:" + "|".join(sorted(stems, key=len, reverse=True)) + ")")
    needed = MIN_COVERAGE * len(stems)
    return lambda text: len(set(pattern.findall(fold(text)))) >= needed


def fuse_rankings(
    rankings: Iterable[Sequence[K]], weights: Sequence[float]
) -> list[tuple[K, float]]:
    """Weighted reciprocal rank fusion: best first, with scores up to 1 for the first of every ranking."""
    scores: dict[K, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, key in enumerate(ranking):
            scores[key] = scores.get(key, 0.0) + score_rank(rank, weight)
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    best = sum(score_rank(0, weight) for weight in weights)
    return [(key, round(score / best, 4)) for key, score in ordered]


def score_rank(rank: int, weight: float) -> float:
    """As Qdrant does it: with a weight of 3, three hits of this ranking come for one of another."""
    return 1 / ((rank + 1) / weight + RANK_SMOOTHING - 1)
