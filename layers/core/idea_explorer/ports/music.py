"""What music discovery needs from the outside: an index, a library, a catalogue and embeddings."""

from array import array
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.music import CatalogueAlbum, CatalogueTrack, IndexedTrack, OwnedTrack

if TYPE_CHECKING:
    Vector: TypeAlias = array[float]
else:
    Vector = array  # before 3.12 it cannot be subscripted at run time


class Embedder(Protocol):
    """Turns texts into vectors whose dot product measures how close their meanings are."""

    @property
    def name(self) -> str:
        """Model and vector size: vectors with different names are never compared."""

    @property
    def dimensions(self) -> int: ...

    @property
    def floor(self) -> float:
        """Similarities below this mean nothing with this model."""

    @property
    def weight(self) -> float:
        """How much its ranking counts; that of the words counts 1."""

    def embed(
        self, texts: Sequence[str], purpose: Literal["document", "query"]
    ) -> Sequence[Vector]:
        """Unit vectors, or zeros for a text the model knows nothing about; raises ExternalError."""


class Membership(Protocol):
    """Answers for a whole result set in one request; raises ExternalError rather than guess."""

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]: ...

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        """Which of these albums have at least one track here."""


@dataclass(frozen=True, slots=True)
class ScoredTrack:
    track: IndexedTrack
    score: float


@dataclass(frozen=True, slots=True)
class FoundTracks:
    """The best hits, the total, and whether they were ranked by meaning or by words alone."""

    hits: Sequence[ScoredTrack]
    total: int
    by_meaning: bool
    index_is_empty: bool = False


class TrackIndex(Membership, Protocol):
    """Tracks searchable by what they are about. Results are untrusted data."""

    def add(self, tracks: Sequence[IndexedTrack]) -> None:
        """Add tracks, replacing those with the same ISRC. Idempotent."""

    def search(self, query: str, limit: int) -> FoundTracks:
        """Any text is a valid query; one that matches nothing finds nothing."""

    def get(self, isrcs: Collection[str]) -> Sequence[IndexedTrack]:
        """Those that are indexed, in any order, in one request."""


class Library(Membership, Protocol):
    """The tracks that the listener owns."""

    def add(self, tracks: Sequence[OwnedTrack]) -> None:
        """Add tracks, replacing those with the same ISRC. Idempotent."""

    def tracks(self) -> Sequence[OwnedTrack]:
        """All of them, by artist, album and title."""

    def remove(self, isrcs: Collection[str]) -> None:
        """Remove those that are there."""


CatalogueKind: TypeAlias = Literal["tracks", "albums"]


@dataclass(frozen=True, slots=True)
class FoundInCatalogue:
    """`cut_short` if the catalogue was too slow for all that was wanted."""

    tracks: Sequence[CatalogueTrack]
    albums: Sequence[CatalogueAlbum]
    cut_short: bool = False


class Catalogue(Protocol):
    """A streaming service's catalogue; raises ExternalError. Results are untrusted data."""

    def prepare(self) -> None:
        """Do in the background what the first search would otherwise wait for."""

    def search(
        self, query: str, kinds: Collection[CatalogueKind], limit: int
    ) -> FoundInCatalogue: ...

    def album(self, album_id: str) -> tuple[CatalogueAlbum, Sequence[CatalogueTrack]]:
        """The album and its tracks in order; raises MissingError for an unknown id."""

    def tracks(self, isrcs: Collection[str]) -> Sequence[CatalogueTrack]:
        """Those that are in the catalogue, one for each ISRC."""
