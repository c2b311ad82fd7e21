"""Tracks in a Qdrant collection, over its HTTP API (1.17 or later: the server computes BM25 and fuses).

A point is a track; its id is derived from the ISRC. `meaning` holds the embedder's vector, `words` the
server's BM25 vector. One request runs both searches, and the server fuses them. Every field that is filtered
has an index, without which a server in strict mode refuses the filter.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from pydantic import AliasPath, BaseModel, Field, JsonValue

from idea_explorer.adapters.http.json_client import JsonHttp, NotThereError
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.music import (
    DEPTH,
    RANK_SMOOTHING,
    IndexedTrack,
    build_matcher,
    extract_words,
    score_rank,
)
from idea_explorer.ports.music import Embedder, FoundTracks, ScoredTrack, Vector

MEANING, WORDS = "meaning", "words"
BM25 = "qdrant/bm25"
FILTERED = ("model", "album_key")
BATCH = 100  # points in one upsert: about 200 KB
SEARCH_SECONDS = 2.5  # most of the three seconds that a call has
WRITE_SECONDS = 30.0

T = TypeVar("T")


class QdrantResponse(BaseModel, Generic[T]):
    result: T


class AnyResponse(BaseModel):
    """Any success; the content does not matter."""


class TrackPayload(BaseModel):
    isrc: str
    title: str
    artist: str
    album: str
    description: str
    short_description: str


class Point(BaseModel):
    payload: TrackPayload
    score: float = 0.0

    def track(self) -> IndexedTrack:
        return IndexedTrack.model_construct(None, **self.payload.model_dump())


class PointId(BaseModel):
    id: str


class Ranking(BaseModel):
    points: list[Point | PointId]


class IsrcPoint(BaseModel):
    isrc: str = Field(validation_alias=AliasPath("payload", "isrc"))


class FacetHit(BaseModel):
    value: str


class Facet(BaseModel):
    hits: list[FacetHit]


class VectorParams(BaseModel):
    size: int


class CollectionInfo(BaseModel):
    vectors: dict[str, VectorParams] = Field(
        {}, validation_alias=AliasPath("config", "params", "vectors")
    )
    payload_schema: dict[str, object] = {}


class QdrantTrackIndex:
    """A collection that does not exist is an empty index."""

    def __init__(
        self,
        url: str,
        collection: str,
        embedder: Embedder | None = None,
        *,
        api_key: str | None = None,
    ) -> None:
        headers = {"api-key": api_key} if api_key else {}
        self._http = JsonHttp("Qdrant", url, headers=headers)
        self._name = collection
        self._path = f"/collections/{quote(collection, safe='')}"
        self._embedder = embedder
        self._known_vectors: Mapping[str, VectorParams] | None = None

    def add(self, tracks: Sequence[IndexedTrack]) -> None:
        """In batches, each of them atomic. After a failure, repeating the call completes it."""
        self._prepare()
        for start in range(0, len(tracks), BATCH):
            points = self._points(tracks[start : start + BATCH])
            self._put(f"{self._path}/points?wait=true", {"points": [*points]})

    def search(self, query: str, limit: int) -> FoundTracks:
        words = extract_words(query)
        try:
            vector = self._query_vector(query)
            found = self._run(words, vector)
        except NotThereError:
            return FoundTracks(hits=[], total=0, by_meaning=False, index_is_empty=True)
        return FoundTracks(hits=found[:limit], total=len(found), by_meaning=vector is not None)

    def get(self, isrcs: Collection[str]) -> Sequence[IndexedTrack]:
        return [point.track() for point in self._retrieve(QdrantResponse[list[Point]], isrcs, True)]

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]:
        points = self._retrieve(QdrantResponse[list[IsrcPoint]], isrcs, ["isrc"])
        return frozenset(point.isrc for point in points)

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        body: JsonObject = {
            "key": "album_key",
            "filter": {"must": [{"key": "album_key", "match": {"any": [*keys]}}]},
            "limit": max(1, len(keys)),
        }
        try:
            response = self._http.call(
                QdrantResponse[Facet],
                "POST",
                f"{self._path}/facet",
                seconds=SEARCH_SECONDS,
                body=body,
            )
        except NotThereError:
            return frozenset()
        return frozenset(hit.value for hit in response.result.hits)

    def _retrieve(
        self, response: type[QdrantResponse[list[T]]], isrcs: Collection[str], payload: JsonValue
    ) -> list[T]:
        body: JsonObject = {
            "ids": [_point_id(isrc) for isrc in isrcs],
            "with_payload": payload,
            "with_vector": False,
        }
        try:
            return self._http.call(
                response, "POST", f"{self._path}/points", seconds=SEARCH_SECONDS, body=body
            ).result
        except NotThereError:
            return []

    def _query_vector(self, query: str) -> Vector | None:
        """None without an embedder, or if the collection has no vectors."""
        if self._embedder is None or MEANING not in self._vectors():
            return None
        (vector,) = self._embedder.embed([query], "query")
        return vector

    def _run(self, words: Sequence[str], vector: Vector | None) -> list[ScoredTrack]:
        """Both rankings fused, and in the same request those found by meaning, to tell the others apart: of
        these, the ones with few of the words have them by accident."""
        meaning = self._meaning_search(vector) if vector is not None and any(vector) else None
        by_words: JsonObject = {"query": {"text": " ".join(words), "model": BM25}, "using": WORDS}
        meaning_weight = self._embedder.weight if self._embedder else 1.0
        rankings: list[JsonObject] = [
            *([{**by_words, "limit": DEPTH}] if words else []),
            *([meaning] if meaning else []),
        ]
        if not rankings:
            return []
        weights = [*([1.0] if words else []), *([meaning_weight] if meaning else [])]
        fused: JsonObject = {
            "prefetch": [*rankings],
            "query": {"rrf": {"k": RANK_SMOOTHING, "weights": [*weights]}},
            "limit": 2 * DEPTH,
            "with_payload": True,
        }
        ids: list[JsonObject] = [{**meaning, "with_payload": False}] if meaning else []
        answer = self._http.call(
            QdrantResponse[list[Ranking]],
            "POST",
            f"{self._path}/points/query/batch",
            seconds=SEARCH_SECONDS,
            body={"searches": [fused, *ids]},
        ).result
        near = {point.id for ranking in answer[1:] for point in _ids(ranking)}
        enough = build_matcher(words)
        # the first of every ranking has the score 1
        best = score_rank(0, 1.0) + (score_rank(0, meaning_weight) if vector is not None else 0.0)
        return [
            ScoredTrack(point.track(), round(min(1.0, point.score / best), 4))
            for point in answer[0].points
            if isinstance(point, Point)
            and (_point_id(point.payload.isrc) in near or enough(point.track().text))
        ]

    def _meaning_search(self, vector: Vector) -> JsonObject:
        assert self._embedder is not None
        same_model: JsonObject = {"key": "model", "match": {"value": self._embedder.name}}
        return {
            "query": [*vector],
            "using": MEANING,
            "limit": DEPTH,
            "score_threshold": self._embedder.floor,
            "filter": {"must": [same_model]},
        }

    def _points(self, tracks: Sequence[IndexedTrack]) -> list[JsonObject]:
        embedder = self._embedder
        texts = [track.text for track in tracks]
        vectors = embedder.embed(texts, "document") if embedder else [None] * len(tracks)
        points: list[JsonObject] = []
        for track, text, vector in zip(tracks, texts, vectors, strict=True):
            named: JsonObject = {WORDS: {"text": text, "model": BM25}}
            if vector is not None and any(vector):
                named[MEANING] = [*vector]
            payload: JsonObject = {
                **track.model_dump(),
                "album_key": track.album_key,
                "model": embedder.name if embedder else None,
            }
            points.append({"id": _point_id(track.isrc), "vector": named, "payload": payload})
        return points

    def _prepare(self) -> None:
        """Create the collection, or check that the existing one fits the embedder. An index that is missing,
        as in collections of earlier versions, is added."""
        try:
            info = self._info()
        except NotThereError:
            self._create()
            return
        size = info.vectors.get(MEANING)
        self._add_indexes(name for name in FILTERED if name not in info.payload_schema)
        if self._embedder and (size is None or size.size != self._embedder.dimensions):
            raise ConfigurationError(
                f"The Qdrant collection '{self._name}' was created for another embedder.",
                hint="Index into a new collection.",
            )

    def _create(self) -> None:
        size = self._embedder.dimensions if self._embedder else None
        vectors: JsonObject = {MEANING: {"size": size, "distance": "Cosine"}} if size else {}
        self._put(self._path, {"vectors": vectors, "sparse_vectors": {WORDS: {"modifier": "idf"}}})
        self._add_indexes(FILTERED)
        self._known_vectors = None

    def _add_indexes(self, names: Iterable[str]) -> None:
        for name in names:
            body: JsonObject = {"field_name": name, "field_schema": "keyword"}
            self._put(f"{self._path}/index?wait=true", body)

    def _put(self, path: str, body: JsonObject) -> None:
        self._http.call(AnyResponse, "PUT", path, seconds=WRITE_SECONDS, body=body)

    def _vectors(self) -> Mapping[str, VectorParams]:
        """The collection's dense vectors, which never change."""
        if self._known_vectors is None:
            self._known_vectors = self._info().vectors
        return self._known_vectors

    def _info(self) -> CollectionInfo:
        return self._http.call(
            QdrantResponse[CollectionInfo], "GET", self._path, seconds=SEARCH_SECONDS
        ).result


def _ids(ranking: Ranking) -> list[PointId]:
    return [point for point in ranking.points if isinstance(point, PointId)]


def _point_id(isrc: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"isrc:{isrc}"))
