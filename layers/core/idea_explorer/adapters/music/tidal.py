"""Tidal's catalogue: its public v2 API, JSON:API with client credentials.

A page holds twenty items. A search requests the first page of everything at once, then further pages of
tracks and albums in parallel, by cursor. Addresses in a response are never followed.
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from idea_explorer.adapters.http.json_client import JsonHttp, NotThereError, UnauthorizedError
from idea_explorer.adapters.music.tidal_documents import (
    ManyDocument,
    OneDocument,
    PageDocument,
    Relationship,
    Resource,
    ResourcePool,
)
from idea_explorer.adapters.music.tidal_sign_in import SignIn
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ExternalError, MissingError, RejectedError
from idea_explorer.domain.music import CatalogueAlbum, CatalogueTrack
from idea_explorer.ports.music import CatalogueKind, FoundInCatalogue

API_URL = "https://openapi.tidal.com/v2"
MEDIA_TYPE = "application/vnd.api+json"
# Half a second to two is usual. An answer that takes longer than a listener likes is worth more than none.
FIRST_PAGE_SECONDS = 4.0
PAGING_SECONDS = (
    1.8  # after the start; what would arrive later is left out, for an answer in three seconds
)
MAX_QUERY = 256  # Tidal refuses a longer one
MAX_ALBUM_TRACKS = 300
MAX_FILTER_VALUES = 20  # Tidal looks up at most this many tracks at once
# A relationship comes only if it is asked for. A path may have three steps, and all of them ten resources.
INCLUDES: dict[CatalogueKind, Sequence[str]] = {
    "tracks": ("tracks.artists", "tracks.albums.coverArt"),
    "albums": ("albums.artists",),
}
ITEMS = ("items.artists",)
TRACK = ("artists", "albums.coverArt")

M = TypeVar("M", bound=BaseModel)


class Tidal:
    def __init__(
        self, sign_in: SignIn, clock: Clock, *, country: str = "US", api_url: str = API_URL
    ) -> None:
        self._sign_in = sign_in
        self._clock = clock
        self._country = country
        self._api = JsonHttp("Tidal", api_url, headers={"Accept": MEDIA_TYPE})

    def prepare(self) -> None:
        """Sign in ahead of the first search, in the background."""
        self._sign_in.prepare()

    def search(self, query: str, kinds: Collection[CatalogueKind], limit: int) -> FoundInCatalogue:
        began = self._clock.monotonic()
        wanted: list[CatalogueKind] = [kind for kind in INCLUDES if kind in kinds]
        document = self._get(
            ManyDocument,
            "/searchResults",
            [include for kind in wanted for include in INCLUDES[kind]],
            FIRST_PAGE_SECONDS,
            {"filter[query]": query[:MAX_QUERY], "explicitFilter": "INCLUDE"},
        )
        if not document.data:
            return FoundInCatalogue(tracks=[], albums=[])
        result = document.data[0]

        def fetch_all(kind: CatalogueKind) -> PageDocument:
            path = f"/searchResults/{quote(result.id, safe='')}/relationships/{kind}"
            return self._fetch_rest(result.related(kind), path, INCLUDES[kind], limit, began)

        with ThreadPoolExecutor(len(wanted)) as executor:
            found = dict(zip(wanted, executor.map(fetch_all, wanted), strict=True))
        pool = ResourcePool(
            [*document.included, *(each for page in found.values() for each in page.included)]
        )
        tracks, albums = (
            pool.find(found[kind], kind) if kind in found else [] for kind in INCLUDES
        )
        return FoundInCatalogue(
            tracks=[pool.track(each) for each in tracks[:limit]],
            albums=[pool.album(each) for each in albums[:limit]],
            cut_short=any(page.links.cursor for page in found.values()),
        )

    def album(self, album_id: str) -> tuple[CatalogueAlbum, Sequence[CatalogueTrack]]:
        began = self._clock.monotonic()
        path = f"/albums/{quote(album_id, safe='')}"
        try:
            document = self._get(
                OneDocument, path, ("artists", "coverArt", *ITEMS), FIRST_PAGE_SECONDS
            )
        except (NotThereError, RejectedError) as error:
            # Tidal rejects a malformed id instead of not finding it
            raise MissingError(f"Tidal has no album {album_id}.") from error
        items = self._fetch_rest(
            document.data.related("items"),
            f"{path}/relationships/items",
            ITEMS,
            MAX_ALBUM_TRACKS,
            began,
        )
        pool = ResourcePool([document.data, *document.included, *items.included])
        found = pool.find(items, "tracks")
        return pool.album(document.data), [pool.track(each, document.data) for each in found]

    def tracks(self, isrcs: Collection[str]) -> Sequence[CatalogueTrack]:
        wanted = list(dict.fromkeys(isrcs))
        batches = [
            wanted[start : start + MAX_FILTER_VALUES]
            for start in range(0, len(wanted), MAX_FILTER_VALUES)
        ]
        if not batches:
            return []
        fetch = partial(self._get, ManyDocument, "/tracks", TRACK, FIRST_PAGE_SECONDS)
        with ThreadPoolExecutor(len(batches)) as executor:
            documents = list(executor.map(lambda batch: fetch({"filter[isrc]": batch}), batches))
        found = [
            ResourcePool(document.included).track(each)
            for document in documents
            for each in document.data
        ]
        # the same recording may be on several albums; Tidal lists the best match first
        first = {track.isrc: track for track in reversed(found)}
        return [first[isrc] for isrc in wanted if isrc in first]

    def _fetch_rest(
        self,
        first: Relationship,
        path: str,
        includes: Sequence[str],
        limit: int,
        began: float,
    ) -> PageDocument:
        """The first page and the following ones as one, up to the limit and as far as they arrive in time."""
        found, links, included = [*first.identifiers], first.links, list[Resource]()
        until = began + PAGING_SECONDS
        took = self._clock.monotonic() - began
        while len(found) < limit and (cursor := links.cursor):
            start = self._clock.monotonic()
            if start + took > until:
                return PageDocument(data=found, included=included, links=links)
            try:
                page = self._get(
                    PageDocument, path, includes, until - start, {"page[cursor]": cursor}
                )
            except ExternalError:
                # the pages so far are a result too
                return PageDocument(data=found, included=included, links=links)
            took = self._clock.monotonic() - start
            found += page.identifiers
            included += page.included
            links = page.links
        return PageDocument(data=found, included=included)

    def _get(
        self,
        kind: type[M],
        path: str,
        includes: Sequence[str],
        seconds: float,
        parameters: Mapping[str, str | Sequence[str]] | None = None,
    ) -> M:
        """A token that Tidal no longer takes is replaced once; signing in is not counted as search time."""
        # One parameter for each include: Tidal takes an escaped comma for a part of the name.
        query = {"countryCode": self._country, "include": includes, **(parameters or {})}
        bearer = self._sign_in.bearer()
        try:
            return self._call(kind, path, query, seconds, bearer)
        except UnauthorizedError:
            self._sign_in.forget(bearer)
            return self._call(kind, path, query, seconds, self._sign_in.bearer())

    def _call(
        self,
        kind: type[M],
        path: str,
        query: Mapping[str, str | Sequence[str]],
        seconds: float,
        bearer: str,
    ) -> M:
        return self._api.call(
            kind,
            "GET",
            path,
            seconds=seconds,
            parameters=query,
            headers={"Authorization": f"Bearer {bearer}"},
        )
