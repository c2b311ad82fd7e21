"""Tidal's catalogue: its public v2 API, JSON:API with client credentials.

A page holds twenty items. A search requests the first page of everything at once, then further pages of
tracks and albums in parallel, by cursor. Addresses in a response are never followed.
"""

import threading
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from idea_explorer.adapters.http.json_client import JsonHttp, NotThereError
from idea_explorer.adapters.music.tidal_documents import (
    AccessToken,
    ManyDocument,
    OneDocument,
    PageDocument,
    Relationship,
    Resource,
    ResourcePool,
)
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import AuthFailedError, ExternalError, MissingError, RejectedError
from idea_explorer.domain.music import CatalogueAlbum, CatalogueTrack
from idea_explorer.ports.music import CatalogueKind, FoundInCatalogue

API_URL = "https://openapi.tidal.com/v2"
AUTH_URL = "https://auth.tidal.com/v1"
MEDIA_TYPE = "application/vnd.api+json"
# A tool call has three seconds: an attempt, a second's pause, another attempt, and the look-ups after it.
FIRST_PAGE_SECONDS = 0.8
PAGING_SECONDS = 1.6  # from the start of an attempt; pages that arrive later are left out
MAX_ALBUM_TRACKS = 300
TOKEN_MARGIN_SECONDS = 60.0  # a token is replaced before it can expire during a request
INCLUDES: dict[CatalogueKind, Sequence[str]] = {
    "tracks": ("tracks", "tracks.artists", "tracks.albums"),
    "albums": ("albums", "albums.artists"),
}
ITEMS = ("items", "items.artists")

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    client_id: str
    client_secret: str = field(repr=False)


class Tidal:
    """Credentials are read for each new token, so rotation works."""

    def __init__(
        self,
        credentials: Callable[[], ClientCredentials],
        clock: Clock,
        *,
        country: str = "US",
        api_url: str = API_URL,
        auth_url: str = AUTH_URL,
    ) -> None:
        self._credentials = credentials
        self._clock = clock
        self._country = country
        self._api = JsonHttp("Tidal", api_url, headers={"Accept": MEDIA_TYPE})
        self._auth = JsonHttp("Tidal's sign-in", auth_url, headers={"Accept": "application/json"})
        self._token: tuple[str, float] | None = None
        self._signing_in = threading.Lock()

    def search(self, query: str, kinds: Collection[CatalogueKind], limit: int) -> FoundInCatalogue:
        began = self._clock.monotonic()
        wanted: list[CatalogueKind] = [kind for kind in INCLUDES if kind in kinds]
        document = self._get(
            ManyDocument,
            "/searchResults",
            [include for kind in wanted for include in INCLUDES[kind]],
            began + FIRST_PAGE_SECONDS,
            {"filter[query]": query, "explicitFilter": "INCLUDE"},
        )
        if not document.data:
            return FoundInCatalogue(tracks=[], albums=[])
        result = document.data[0]

        def fetch_all(kind: CatalogueKind) -> PageDocument:
            path = f"/searchResults/{quote(result.id, safe='')}/relationships/{kind}"
            until = began + PAGING_SECONDS
            return self._fetch_rest(result.related(kind), path, INCLUDES[kind], limit, until)

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
        )

    def album(self, album_id: str) -> tuple[CatalogueAlbum, Sequence[CatalogueTrack]]:
        began = self._clock.monotonic()
        path = f"/albums/{quote(album_id, safe='')}"
        try:
            document = self._get(OneDocument, path, ("artists", *ITEMS), began + FIRST_PAGE_SECONDS)
        except (NotThereError, RejectedError) as error:
            # Tidal rejects a malformed id instead of not finding it
            raise MissingError(f"Tidal has no album {album_id}.") from error
        items = self._fetch_rest(
            document.data.related("items"),
            f"{path}/relationships/items",
            ITEMS,
            MAX_ALBUM_TRACKS,
            began + PAGING_SECONDS,
        )
        pool = ResourcePool([*document.included, *items.included])
        album = pool.album(document.data)
        return album, [pool.track(each, album) for each in pool.find(items, "tracks")]

    def _fetch_rest(
        self,
        first: Relationship,
        path: str,
        includes: Sequence[str],
        limit: int,
        until: float,
    ) -> PageDocument:
        """The first page and the following ones as one, up to the limit and as far as they arrive in time."""
        found, links, included = [*first.identifiers], first.links, list[Resource]()
        while len(found) < limit and (cursor := links.cursor):
            try:
                page = self._get(PageDocument, path, includes, until, {"page[cursor]": cursor})
            except ExternalError:
                break  # the pages so far are a result too
            found += page.identifiers
            included += page.included
            links = page.links
        return PageDocument(data=found, included=included)

    def _get(
        self,
        kind: type[M],
        path: str,
        includes: Sequence[str],
        until: float,
        parameters: Mapping[str, str] | None = None,
    ) -> M:
        bearer = self._bearer(until)
        try:
            return self._api.call(
                kind,
                "GET",
                path,
                seconds=until - self._clock.monotonic(),
                parameters={
                    "countryCode": self._country,
                    "include": ",".join(includes),
                    **(parameters or {}),
                },
                headers={"Authorization": f"Bearer {bearer}"},
            )
        except AuthFailedError:
            self._token = None  # the next call signs in again
            raise

    def _bearer(self, until: float) -> str:
        with self._signing_in:
            now = self._clock.monotonic()
            if self._token is None or self._token[1] <= now:
                token = self._sign_in(until - now)
                self._token = (token.access_token, now + token.expires_in - TOKEN_MARGIN_SECONDS)
            return self._token[0]

    def _sign_in(self, seconds: float) -> AccessToken:
        given = self._credentials()
        basic = b64encode(f"{given.client_id}:{given.client_secret}".encode()).decode()
        try:
            return self._auth.call(
                AccessToken,
                "POST",
                "/oauth2/token",
                seconds=seconds,
                headers={"Authorization": f"Basic {basic}"},
                form={"grant_type": "client_credentials"},
            )
        except (AuthFailedError, RejectedError) as error:
            raise AuthFailedError(
                "Tidal refused the client credentials.",
                hint="Check TIDAL_CLIENT_ID and TIDAL_CLIENT_SECRET.",
            ) from error
