"""Tidal's v2 API and its sign-in, as far as the catalogue is read: JSON:API, cursors, client credentials.

It refuses what Tidal's own description (tidal_openapi.json) does not have, and answers with all that the
description requires. What the description says in words is here by hand: a resource names the relationships
that were asked for and no others, an include has at most three levels and names at most ten resources.

In a test: `with FakeTidal() as tidal: tidal.add_album("7", "Groyne", "The Sidmouth Five", [...])`.
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tests.fakes.json_server import JsonServer, Reply, Request
from tests.fakes.openapi_contract import Contract, query_values

PAGE = 20
MEDIA_TYPE = "application/vnd.api+json"
MAX_DEPTH, MAX_INCLUDED = 3, 10
MAX_FILTER_VALUES = 20  # not in the description; beets found it out (beetsplug/tidal/api.py)
# What a relationship leads to, as far as anything is served here.
TARGETS = {
    "tracks": "tracks",
    "items": "tracks",
    "albums": "albums",
    "artists": "artists",
    "coverArt": "artworks",
}
SCHEMAS = {
    "searchResults": "SearchResults_Relationships",
    "albums": "Albums_Relationships",
    "tracks": "Tracks_Relationships",
    "artists": "Artists_Relationships",
    "artworks": "Artworks_Relationships",
}
ARTWORK_SIZES = (1280, 640, 320, 160)


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


@dataclass(frozen=True)
class FakeArtist:
    id: str
    name: str


@dataclass(frozen=True)
class FakeArtwork:
    id: str


@dataclass(frozen=True)
class FakeSearch:
    id: str
    query: str


class Refused(Exception):
    def __init__(self, status: int, code: str, detail: str = "") -> None:
        super().__init__(detail)
        error = {"status": str(status), "code": code, "detail": detail or code.lower()}
        self.reply = Reply(status, {"errors": [error]}, content_type=MEDIA_TYPE)


class FakeTidal(JsonServer):
    """Serves sign-in below /auth and the API below /v2. Search matches titles, artists and albums."""

    def __init__(self, *, client_id: str = "id", client_secret: str = "secret") -> None:
        super().__init__()
        self.api_url = f"{self.url}/v2"
        self.auth_url = f"{self.url}/auth"
        self.token_seconds = 14_400
        self.withheld: set[str] = set()
        self.contract = Contract(Path(__file__).with_name("tidal_openapi.json"))
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
            return Refused(401, "UNAUTHORIZED").reply
        target = request.target.removeprefix("/v2")
        operation, wrong = self.contract.check_request(request.method, target, request.body)
        try:
            if operation is None:
                raise Refused(404, "NOT_FOUND", wrong)
            if wrong:
                raise Refused(400, "INVALID_REQUEST", wrong)
            path, _, query = target.partition("?")
            segments = [unquote(segment) for segment in path.strip("/").split("/")]
            body = self._answer(operation.name, segments, query_values(query))
        except Refused as refused:
            return refused.reply
        self.contract.check_response(operation, body)
        return Reply(200, body, content_type=MEDIA_TYPE)

    def _sign_in(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Basic {self._basic}":
            return Reply(400, {"error": "invalid_client", "error_description": "Invalid client"})
        if request.body != b"grant_type=client_credentials":
            return Reply(400, {"error": "unsupported_grant_type"})
        token = f"token-{len(self.asked('/auth'))}"
        self._tokens.add(token)
        body = {"access_token": token, "token_type": "Bearer", "expires_in": self.token_seconds}
        return Reply(200, body)

    def _answer(
        self, name: str, segments: list[str], query: dict[str, list[str]]
    ) -> dict[str, Any]:
        include = query.get("include", [])
        cursor = query.get("page[cursor]", [None])[0]
        match name, segments:
            case "GET /searchResults", _:
                text = ",".join(query["filter[query]"])
                search = FakeSearch(base64.urlsafe_b64encode(text.encode()).decode(), text)
                return self._document([search], include, "/searchResults")
            case "GET /tracks", _:
                return self._document(self._tracks_by_isrc(query), include, "/tracks")
            case "GET /albums/{id}", [_, album_id]:
                album = self._find_album(album_id)
                return self._document(album, include, f"/albums/{album.id}")
            case _, ["albums", album_id, _, relation]:
                return self._page_of(self._find_album(album_id), relation, include, cursor)
            case _, [_, search_id, _, relation]:
                return self._page_of(_find_search(search_id), relation, include, cursor)
        raise Refused(404, "NOT_FOUND")

    def _find_album(self, album_id: str) -> FakeAlbum:
        if album_id not in self._albums:
            raise Refused(404, "NOT_FOUND")
        return self._albums[album_id]

    def _tracks_by_isrc(self, query: dict[str, list[str]]) -> list[FakeTrack]:
        wanted = query.get("filter[isrc]")
        if not wanted:
            raise Refused(400, "MISSING_REQUIRED_PARAMETER", "At least one filter is required")
        if len(wanted) > MAX_FILTER_VALUES:
            raise Refused(400, "INVALID_REQUEST", "Too many values in filter[isrc]")
        everything = [track for album in self._albums.values() for track in album.tracks]
        found = [track for track in everything if track.isrc in wanted]
        if len(wanted) == 1:
            return found[:PAGE]
        return list({track.isrc: track for track in reversed(found)}.values())

    def _document(self, data: Any, include: list[str], path: str) -> dict[str, Any]:
        included: dict[tuple[str, str], Any] = {}
        many = isinstance(data, list)
        kind = _kind(data[0]) if many and data else "tracks" if many else _kind(data)
        tree = self._include_tree(kind, include)
        listed = [self._resource(each, tree, included) for each in (data if many else [data])]
        return {
            "data": listed if many else listed[0],
            "included": [*included.values()],
            "links": {"self": path},
        }

    def _page_of(
        self, owner: Any, relation: str, include: list[str], cursor: str | None
    ) -> dict[str, Any]:
        tree = self._include_tree(_kind(owner), include)
        included: dict[tuple[str, str], Any] = {}
        page = self._relationship(owner, relation, cursor)
        if relation in tree:
            self._include(owner, relation, tree[relation], included, cursor)
        return {**page, "included": [*included.values()]}

    def _include_tree(self, kind: str, include: Iterable[str]) -> dict[str, Any]:
        """The paths as a tree, or the refusal of one that leads nowhere."""
        tree: dict[str, Any] = {}
        for path in include:
            steps = path.split(".")
            at, below = kind, tree
            for step in steps:
                known = self.contract.schemas[SCHEMAS[at]]["properties"]
                if step not in known or step not in TARGETS or len(steps) > MAX_DEPTH:
                    said = f"Invalid include path '{path}': '{step}' is unavailable."
                    self.contract.violations.append(said)
                    raise Refused(400, "GENERIC_REQUEST_ERROR", said)
                at, below = TARGETS[step], below.setdefault(step, {})
        if _count(tree) > MAX_INCLUDED:
            self.contract.violations.append("too many includes")
            raise Refused(400, "GENERIC_REQUEST_ERROR", "Too many resources are included.")
        return tree

    def _resource(
        self, each: Any, tree: dict[str, Any], included: dict[tuple[str, str], Any]
    ) -> dict[str, Any]:
        resource = {"id": each.id, "type": _kind(each), "attributes": self._attributes(each)}
        if tree:
            resource["relationships"] = {name: self._relationship(each, name) for name in tree}
        for name, below in tree.items():
            self._include(each, name, below, included)
        return resource

    def _include(
        self,
        owner: Any,
        relation: str,
        tree: dict[str, Any],
        included: dict[tuple[str, str], Any],
        cursor: str | None = None,
    ) -> None:
        for each in _page(self._related(owner, relation), cursor):
            if each.id not in self.withheld:
                included[_kind(each), each.id] = self._resource(each, tree, included)

    def _relationship(self, owner: Any, relation: str, cursor: str | None = None) -> dict[str, Any]:
        everything = self._related(owner, relation)
        path = f"/{_kind(owner)}/{quote(owner.id)}/relationships/{relation}"
        links: dict[str, Any] = {"self": path}
        after = int(cursor or 0) + PAGE
        if after < len(everything):
            links["next"] = f"{path}?page%5Bcursor%5D={after}"
            links["meta"] = {"nextCursor": str(after)}
        data = [
            {"id": each.id, "type": _kind(each), **_meta(each, relation)}
            for each in _page(everything, cursor)
        ]
        return {"data": data, "links": links}

    def _related(self, owner: Any, relation: str) -> list[Any]:
        match owner, relation:
            case FakeSearch(query=query), _:
                return self._matches(query, relation)
            case FakeAlbum(tracks=tracks), "items":
                return list(tracks)
            case FakeAlbum(id=album_id), "coverArt":
                return [FakeArtwork(f"art{album_id}")]
            case FakeTrack(album_id=album_id), "albums":
                return [self._albums[album_id]]
            case _, "artists":
                return [FakeArtist(quote(owner.artist), owner.artist)]
        raise AssertionError(f"{relation} of {owner} is not served")

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

    def _attributes(self, each: Any) -> dict[str, Any]:
        match each:
            case FakeSearch(query=query):
                return {"query": query, "trackingId": "5896e37d-e847-4ca6-9629-ef8001719f7f"}
            case FakeArtist(name=name):
                return {"name": name, "popularity": 0.1}
            case FakeArtwork(id=artwork_id):
                files = [
                    {
                        "href": f"https://resources.tidal.com/images/{artwork_id}/{size}x{size}.jpg",
                        "meta": {"width": size, "height": size},
                    }
                    for size in ARTWORK_SIZES
                ]
                return {"mediaType": "IMAGE", "files": files}
        about: dict[str, Any] = {
            "title": each.title,
            "explicit": False,
            "mediaTags": ["LOSSLESS"],
            "popularity": 0.1,
            "externalLinks": [
                {
                    "href": f"https://tidal.com/browse/{_kind(each).removesuffix('s')}/{each.id}",
                    "meta": {"type": "TIDAL_SHARING"},
                }
            ],
        }
        if isinstance(each, FakeAlbum):
            return about | {
                "barcodeId": "0000000000000",
                "numberOfItems": len(each.tracks),
                "numberOfVolumes": 1,
                "releaseDate": each.release_date,
                "duration": "PT40M",
                "albumType": "ALBUM",
            }
        version = {"version": each.version} if each.version else {}
        return (
            about
            | version
            | {
                "isrc": each.isrc,
                "duration": "PT3M5S",
                "key": "UNKNOWN",
                "keyScale": "UNKNOWN",
            }
        )


def _find_search(search_id: str) -> FakeSearch:
    try:
        return FakeSearch(search_id, base64.urlsafe_b64decode(search_id).decode())
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Refused(400, "INVALID_RESOURCE_ID", "Invalid resource ID") from error


def _kind(each: Any) -> str:
    kinds = {
        FakeSearch: "searchResults",
        FakeAlbum: "albums",
        FakeTrack: "tracks",
        FakeArtist: "artists",
        FakeArtwork: "artworks",
    }
    return kinds[type(each)]


def _page(everything: list[Any], cursor: str | None) -> list[Any]:
    start = int(cursor or 0)
    return everything[start : start + PAGE]


def _meta(each: Any, relation: str) -> dict[str, Any]:
    if relation != "items":
        return {}
    return {"meta": {"trackNumber": int(each.id[-3:]), "volumeNumber": 1}}


def _count(tree: dict[str, Any]) -> int:
    return sum(1 + _count(below) for below in tree.values())
