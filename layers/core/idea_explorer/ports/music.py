"""What music discovery needs from outside: an index, a library, a catalogue, and a sense of meaning."""

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from idea_explorer.domain.music import CatalogueAlbum, CatalogueTrack, IndexedTrack, OwnedTrack

if TYPE_CHECKING:
    Vector: TypeAlias = array[float]
else:
    Vector = array  # before 3.12 it cannot be subscripted at run time


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how close their meanings are."""

    @property
    def name(self) -> str:
        """Names model and size: vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def floor(self) -> float:
        """The similarity below which this model has nothing to say."""
        ...

    def embed(
        self, texts: Sequence[str], purpose: Literal["document", "query"]
    ) -> Sequence[Vector]:
        """Vectors of length 1, or of zeros for a text that means nothing to it; raises ExternalError."""
        ...


class Membership(Protocol):
    """Answers for a whole result set with one request each; raises ExternalError rather than guess."""

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]: ...

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        """Which of these album keys has at least one track here."""
        ...


@dataclass(frozen=True, slots=True)
class ScoredTrack:
    track: IndexedTrack
    score: float


@dataclass(frozen=True, slots=True)
class FoundTracks:
    """The best hits, how many there are in all, and whether meaning or only words decided."""

    hits: Sequence[ScoredTrack]
    total: int
    by_meaning: bool
    index_is_empty: bool = False


class TrackIndex(Membership, Protocol):
    """Tracks searchable by what they are about. What comes back is untrusted data."""

    def add(self, tracks: Sequence[IndexedTrack]) -> None:
        """Add, or replace where the ISRC is there already. Doing it again changes nothing."""
        ...

    def search(self, query: str, limit: int) -> FoundTracks:
        """Any text is a valid query; what means nothing here finds nothing."""
        ...

    def get(self, isrcs: Collection[str]) -> Sequence[IndexedTrack]:
        """Those of them that are indexed, in any order, by one request."""
        ...


class Library(Membership, Protocol):
    """What the listener owns."""

    def add(self, tracks: Sequence[OwnedTrack]) -> None: ...


CatalogueKind: TypeAlias = Literal["tracks", "albums"]


@dataclass(frozen=True, slots=True)
class FoundInCatalogue:
    tracks: Sequence[CatalogueTrack]
    albums: Sequence[CatalogueAlbum]


class Catalogue(Protocol):
    """A streaming service's catalogue; raises ExternalError. What comes back is untrusted data."""

    def search(
        self, query: str, kinds: Collection[CatalogueKind], limit: int
    ) -> FoundInCatalogue: ...

    def album(self, album_id: str) -> tuple[CatalogueAlbum, Sequence[CatalogueTrack]]:
        """The album and its tracks in order; raises MissingError for an id it does not know."""
        ...
