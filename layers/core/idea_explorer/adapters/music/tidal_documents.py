"""Tidal's JSON:API documents, and the tracks and albums in them."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import AliasPath, BaseModel, Field

from idea_explorer.domain.music import CatalogueAlbum, CatalogueTrack, normalize_isrc
from idea_explorer.domain.text import one_line

MAX_TEXT = 300  # no title is longer than this


class Identifier(BaseModel):
    id: str
    type: str


class PageLinks(BaseModel):
    next: str | None = None
    next_cursor: str | None = Field(None, validation_alias=AliasPath("meta", "nextCursor"))

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page; nothing else of the link is used."""
        if self.next_cursor:
            return self.next_cursor
        given = parse_qs(urlsplit(self.next or "").query).get("page[cursor]")
        return given[0] if given else None


class Relationship(BaseModel):
    data: list[Identifier] | Identifier | None = None
    links: PageLinks = PageLinks()

    @property
    def identifiers(self) -> list[Identifier]:
        return self.data if isinstance(self.data, list) else [self.data] if self.data else []


class Resource(Identifier):
    attributes: dict[str, Any] = {}
    relationships: dict[str, Relationship] = {}

    def text(self, name: str) -> str:
        value = self.attributes.get(name)
        return one_line(value, MAX_TEXT) if isinstance(value, str) else ""

    def related(self, name: str) -> Relationship:
        return self.relationships.get(name, Relationship())


class AccessToken(BaseModel):
    access_token: str = Field(min_length=1)
    expires_in: float = 0.0


class OneDocument(BaseModel):
    data: Resource
    included: list[Resource] = []


class ManyDocument(BaseModel):
    data: list[Resource]
    included: list[Resource] = []


class PageDocument(Relationship):
    """One page of a relationship, requested by itself."""

    included: list[Resource] = []


class ResourcePool:
    """The resources included in the documents, by type and id."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._resources = {(each.type, each.id): each for each in resources}

    def find(self, relationship: Relationship, kind: str) -> list[Resource]:
        """Those of the kind, in order, without any that Tidal lists but does not include."""
        found = (self._resources.get((each.type, each.id)) for each in relationship.identifiers)
        return [each for each in found if each is not None and each.type == kind]

    def track(self, resource: Resource, album: CatalogueAlbum | None = None) -> CatalogueTrack:
        albums = self.find(resource.related("albums"), "albums")
        return CatalogueTrack(
            isrc=_isrc(resource.text("isrc")),
            title=_title(resource),
            artist=self._artists(resource),
            album=album.title if album else _title(albums[0]) if albums else None,
        )

    def album(self, resource: Resource) -> CatalogueAlbum:
        count = resource.attributes.get("numberOfItems")
        return CatalogueAlbum(
            album_id=resource.id,
            title=_title(resource),
            artist=self._artists(resource),
            release_date=resource.text("releaseDate") or None,
            track_count=count if isinstance(count, int) else None,
        )

    def _artists(self, resource: Resource) -> str:
        artists = self.find(resource.related("artists"), "artists")
        return ", ".join(artist.text("name") for artist in artists)


def _title(resource: Resource) -> str:
    title, version = resource.text("title"), resource.text("version")
    return f"{title} ({version})" if version else title


def _isrc(text: str) -> str | None:
    """The ISRC if it is a valid one: ownership flags depend on it."""
    try:
        return normalize_isrc(text)
    except ValueError:
        return None
