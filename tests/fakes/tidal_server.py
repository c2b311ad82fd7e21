"""Tidal's v2 API and its sign-in, as far as the catalogue is read: JSON:API, cursors, client credentials.

In a test: `with FakeTidal() as tidal: tidal.add_album("7", "Groyne", "The Sidmouth Five", [...])`.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.fakes.json_server import JsonServer, Reply, Request

PAGE = 20
MEDIA_TYPE = "application/vnd.api+json"


@dataclass(frozen=True)
class FakeTrack:
    id: str
    title: str
    artist: str
    album_id: str
    isrc: str
    version: str | None = None


@dataclass(frozen=True)
class FakeAlbum:
    id: str
    title: str
    artist: str
    release_date: str
    tracks: tuple[FakeTrack, ...]


class FakeTidal(JsonServer):
    """Serves sign-in below /auth and the API below /v2. Search matches titles, artists and albums."""

    def __init__(self, *, client_id: str = "id", client_secret: str = "secret") -> None:
        super().__init__()
        self.api_url = f"{self.url}/v2"
        self.auth_url = f"{self.url}/auth"
        self.token_seconds = 86_400
        self.withheld: set[str] = set()
        self._basic = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        self._tokens: set[str] = set()
        self._albums: dict[str, FakeAlbum] = {}

    def add_album(
        self,
        album_id: str,
        title: str,
        artist: str,
        tracks: Sequence[tuple[str, str]],
        *,
        release_date: str = "2019-05-17",
        version: str | None = None,
    ) -> None:
        """An album whose tracks are (ISRC, title); an empty ISRC is a track that has none."""
        listed = tuple(
            FakeTrack(f"{album_id}{number:03}", name, artist, album_id, isrc, version)
            for number, (isrc, name) in enumerate(tracks, start=1)
        )
        self._albums[album_id] = FakeAlbum(album_id, title, artist, release_date, listed)

    def forget_tokens(self) -> None:
        self._tokens.clear()

    def handle(self, request: Request) -> Reply:
        if request.path == "/auth/oauth2/token":
            return self._sign_in(request)
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if bearer not in self._tokens:
            return _error(401, "UNAUTHORIZED")
        if "countryCode" not in request.query:
            return _error(400, "INVALID_REQUEST")
        match request.path.removeprefix("/v2/").split("/"):
            case ["searchResults"] if "filter[query]" in request.query:
                return self._search(request)
            case ["searchResults", search_id, "relationships", kind]:
                return self._more_found(request, search_id, kind)
            case ["albums", album_id] if album_id in self._albums:
                return self._album(request, self._albums[album_id])
            case ["albums", album_id, "relationships", "items"] if album_id in self._albums:
                return self._more_items(request, self._albums[album_id])
        return _error(404, "NOT_FOUND")

    def _sign_in(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Basic {self._basic}":
            return Reply(400, {"error": "invalid_client", "error_description": "Invalid client"})
        if request.body != b"grant_type=client_credentials":
            return Reply(400, {"error": "unsupported_grant_type"})
        token = f"token-{len(self.asked('/auth'))}"
        self._tokens.add(token)
        body = {"access_token": token, "token_type": "Bearer", "expires_in": self.token_seconds}
        return Reply(200, body)

    def _matches(self, query: str, kind: str) -> list[Any]:
        words = query.lower().split()

        def matches(*names: str) -> bool:
            text = " ".join(names).lower()
            return all(word in text for word in words)

        albums = self._albums.values()
        if kind == "albums":
            return [album for album in albums if matches(album.title, album.artist)]
        return [
            track
            for album in albums
            for track in album.tracks
            if matches(track.title, track.artist, album.title)
        ]

    def _search(self, request: Request) -> Reply:
        query = request.query["filter[query]"]
        search_id = base64.urlsafe_b64encode(query.encode()).decode()
        include = request.query.get("include", "").split(",")
        relationships: dict[str, dict[str, Any]] = {}
        included: dict[tuple[str, str], Any] = {}
        for kind in ("tracks", "albums"):
            path = f"/searchResults/{search_id}/relationships/{kind}"
            page, links = _page(self._matches(query, kind), None, path)
            relationships[kind] = {"links": links}
            if kind in include:
                relationships[kind]["data"] = [{"id": each.id, "type": kind} for each in page]
                self._include(page, kind, _below(include, kind), included)
        data = {
            "id": search_id,
            "type": "searchResults",
            "attributes": {"trackingId": "t"},
            "relationships": relationships,
        }
        return _document([data], included)

    def _more_found(self, request: Request, search_id: str, kind: str) -> Reply:
        query = base64.urlsafe_b64decode(search_id).decode()
        return self._more(request, self._matches(query, kind), kind, kind)

    def _album(self, request: Request, album: FakeAlbum) -> Reply:
        include = request.query.get("include", "").split(",")
        included: dict[tuple[str, str], Any] = {}
        resource = self._resource(album)
        page, links = _page(list(album.tracks), None, f"/albums/{album.id}/relationships/items")
        resource["relationships"]["items"] = {"links": links}
        if "items" in include:
            resource["relationships"]["items"]["data"] = [_item(each) for each in page]
            self._include(page, "tracks", _below(include, "items"), included)
        if "artists" in include:
            self._include_artist(album.artist, included)
        return _document(resource, included)

    def _more_items(self, request: Request, album: FakeAlbum) -> Reply:
        return self._more(request, list(album.tracks), "tracks", "items")

    def _more(self, request: Request, everything: list[Any], kind: str, relation: str) -> Reply:
        include = request.query.get("include", "").split(",")
        included: dict[tuple[str, str], Any] = {}
        path = request.path.removeprefix("/v2")
        page, links = _page(everything, request.query.get("page[cursor]"), path)
        if relation in include:
            self._include(page, kind, _below(include, relation), included)
        data = [
            _item(each) if relation == "items" else {"id": each.id, "type": kind} for each in page
        ]
        return Reply(
            200,
            {"data": data, "links": links, "included": [*included.values()]},
            content_type=MEDIA_TYPE,
        )

    def _include(
        self, page: list[Any], kind: str, nested: set[str], included: dict[tuple[str, str], Any]
    ) -> None:
        for each in page:
            if each.id in self.withheld:
                continue
            included[kind, each.id] = self._resource(each)
            if "artists" in nested:
                self._include_artist(each.artist, included)
            if "albums" in nested:
                album = self._albums[each.album_id]
                included["albums", album.id] = self._resource(album)

    def _include_artist(self, name: str, included: dict[tuple[str, str], Any]) -> None:
        artist_id = quote(name)
        attributes = {"name": name, "popularity": 0.1}
        included["artists", artist_id] = {
            "id": artist_id,
            "type": "artists",
            "attributes": attributes,
        }

    def _resource(self, each: FakeTrack | FakeAlbum) -> dict[str, Any]:
        artists = {"data": [{"id": quote(each.artist), "type": "artists"}], "links": {}}
        if isinstance(each, FakeAlbum):
            return {
                "id": each.id,
                "type": "albums",
                "attributes": {
                    "title": each.title,
                    "barcodeId": "0000000000000",
                    "numberOfItems": len(each.tracks),
                    "numberOfVolumes": 1,
                    "releaseDate": each.release_date,
                    "duration": "PT40M",
                    "explicit": False,
                    "popularity": 0.1,
                    "albumType": "ALBUM",
                },
                "relationships": {"artists": artists, "items": {"links": {}}},
            }
        return {
            "id": each.id,
            "type": "tracks",
            "attributes": {
                "title": each.title,
                "version": each.version,
                "isrc": each.isrc,
                "duration": "PT3M",
                "explicit": False,
                "popularity": 0.1,
            },
            "relationships": {
                "artists": artists,
                "albums": {"data": [{"id": each.album_id, "type": "albums"}], "links": {}},
            },
        }


def _page(everything: list[Any], cursor: str | None, path: str) -> tuple[list[Any], dict[str, Any]]:
    start = int(cursor or 0)
    links: dict[str, Any] = {"self": path}
    if start + PAGE < len(everything):
        links["next"] = f"{path}?page%5Bcursor%5D={start + PAGE}"
        links["meta"] = {"nextCursor": str(start + PAGE)}
    return everything[start : start + PAGE], links


def _item(track: FakeTrack) -> dict[str, Any]:
    meta = {"trackNumber": int(track.id[-3:]), "volumeNumber": 1}
    return {"id": track.id, "type": "tracks", "meta": meta}


def _below(include: Sequence[str], relation: str) -> set[str]:
    return {path.split(".", 1)[1] for path in include if path.startswith(f"{relation}.")}


def _document(data: Any, included: dict[tuple[str, str], Any]) -> Reply:
    body = {"data": data, "included": [*included.values()], "links": {"self": "/"}}
    return Reply(200, body, content_type=MEDIA_TYPE)


def _error(status: int, code: str) -> Reply:
    error = {"status": str(status), "code": code, "detail": code.lower()}
    return Reply(status, {"errors": [error]}, content_type=MEDIA_TYPE)
