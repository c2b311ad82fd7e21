"""Qdrant's HTTP API as far as the track index uses it, over Qdrant's own engine (`qdrant-edge-py`).

Requests and answers are checked against Qdrant's own description (qdrant_openapi.json). The engine stores,
filters, ranks and fuses; here a request is only put into its words. Strict mode is on, as on Qdrant Cloud: a
filter on a field without an index is 400. What the engine or this stand-in cannot do is 501.
"""

import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from tests.fakes.json_server import JsonServer, Reply, Request
from tests.fakes.openapi_contract import Contract

BM25 = "qdrant/bm25"
MAX_QUERY_LIMIT = 1_000  # strict mode bounds it; Qdrant Cloud's value is not published


class Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.reply = Reply(status, {"status": {"error": reason}, "time": 0.0})


@dataclass
class Collection:
    shard: edge.EdgeShard
    created: dict[str, Any]
    indexed: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def dense(self) -> dict[str, Any]:
        vectors: dict[str, Any] = self.created["vectors"]
        return vectors

    @property
    def sparse(self) -> dict[str, Any]:
        vectors: dict[str, Any] = self.created["sparse_vectors"]
        return vectors


class FakeQdrant(JsonServer):
    def __init__(self, *, api_key: str | None = None) -> None:
        super().__init__()
        self.collections: dict[str, Collection] = {}
        self.contract = Contract(Path(__file__).with_name("qdrant_openapi.json"))
        self._api_key = api_key
        self._folder = tempfile.TemporaryDirectory(prefix="qdrant-")
        self._bm25 = edge.Bm25()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for collection in self.collections.values():
            collection.shard.close()
        self._folder.cleanup()

    def handle(self, request: Request) -> Reply:
        if self._api_key and request.headers.get("api-key") != self._api_key:
            return Refused(401, "Must provide an API key or an Authorization bearer token").reply
        operation, wrong = self.contract.check_request(request.method, request.target, request.body)
        try:
            if operation is None:
                raise Refused(404, "")
            if wrong:
                raise Refused(400, f"Format error in JSON body: {wrong}")
            result = self._route(operation.name, request)
        except Refused as refused:
            return refused.reply
        except Exception as error:
            if type(error) not in {Exception, ValueError}:  # the engine's refusals are of these
                raise
            return Refused(400, f"Wrong input: {error}").reply
        body = {"result": result, "status": "ok", "time": 0.0}
        self.contract.check_response(operation, body)
        return Reply(200, body)

    def _route(self, operation: str, request: Request) -> Any:
        name = request.path.split("/")[2]
        method, _, path = operation.partition(" ")
        action = path.removeprefix("/collections/{collection_name}")
        if (method, action) == ("PUT", ""):
            return self._create(name, request.json())
        if name not in self.collections:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        collection = self.collections[name]
        with collection.lock:
            match method, action:
                case "GET", "":
                    return _info(collection)
                case "PUT", "/index":
                    return _add_index(collection, request.json())
                case "PUT", "/points":
                    return self._upsert(collection, request.json()["points"])
                case "POST", "/points":
                    return _retrieve(collection, request.json())
                case "POST", "/points/query/batch":
                    return [self._query(collection, each) for each in request.json()["searches"]]
                case "POST", "/facet":
                    return _facet(collection, request.json())
        raise Refused(501, f"{operation} is not served here")

    def _create(self, name: str, given: dict[str, Any]) -> bool:
        if name in self.collections:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        config = edge.EdgeConfig(
            vectors={
                vector: edge.EdgeVectorParams(
                    size=params["size"], distance=getattr(edge.Distance, params["distance"])
                )
                for vector, params in given["vectors"].items()
            },
            sparse_vectors={
                vector: edge.EdgeSparseVectorParams(
                    modifier=edge.Modifier.Idf if params.get("modifier") == "idf" else None
                )
                for vector, params in given["sparse_vectors"].items()
            },
        )
        folder = Path(self._folder.name) / str(len(self.collections))
        self.collections[name] = Collection(edge.EdgeShard.create(str(folder), config), given)
        return True

    def _upsert(self, collection: Collection, points: list[dict[str, Any]]) -> dict[str, Any]:
        made = [
            edge.Point(
                each["id"],
                {name: self._vector(collection, name, v) for name, v in each["vector"].items()},
                each["payload"],
            )
            for each in points
        ]
        collection.shard.update(edge.UpdateOperation.upsert_points(made))
        return {"operation_id": 2, "status": "completed"}

    def _vector(self, collection: Collection, name: str, given: Any, *, query: bool = False) -> Any:
        if name not in {*collection.dense, *collection.sparse}:
            raise Refused(400, f"Wrong input: Not existing vector name error: {name}")
        if isinstance(given, list):
            return given
        if given.get("model") != BM25:
            raise Refused(501, "No inference but BM25 is done here")
        embed = self._bm25.embed_query if query else self._bm25.embed_document
        return embed(given["text"])

    def _query(self, collection: Collection, search: dict[str, Any]) -> dict[str, Any]:
        if search["limit"] > MAX_QUERY_LIMIT:
            raise Refused(400, f"Bad request: Limit exceeded {search['limit']} > {MAX_QUERY_LIMIT}")
        points = collection.shard.query(
            edge.QueryRequest(
                limit=search["limit"],
                query=self._scoring(collection, search),
                prefetches=[
                    edge.Prefetch(
                        limit=each["limit"],
                        query=self._scoring(collection, each),
                        filter=_filter(collection, each.get("filter")),
                        score_threshold=each.get("score_threshold"),
                    )
                    for each in search.get("prefetch", [])
                ],
                with_payload=search.get("with_payload", False),
                filter=_filter(collection, search.get("filter")),
                score_threshold=search.get("score_threshold"),
            )
        )
        return {"points": [_scored(point) for point in points]}

    def _scoring(self, collection: Collection, search: dict[str, Any]) -> Any:
        match search["query"]:
            case {"rrf": {"k": int(k), "weights": [*weights], **rest}} if not rest:
                return edge.Fusion.Rrf(k=k, weights=weights)
            case [*_] | {"model": _} as vector:
                using = search["using"]
                return edge.Query.Nearest(
                    self._vector(collection, using, vector, query=True), using=using
                )
        raise Refused(501, f"The query {search['query']} is not served here")


def _scored(point: edge.ScoredPoint) -> dict[str, Any]:
    shown = {"payload": point.payload} if point.payload else {}
    return {"id": str(point.id), "version": point.version, "score": point.score, **shown}


def _info(collection: Collection) -> dict[str, Any]:
    return {
        "status": "green",
        "optimizer_status": "ok",
        "points_count": collection.shard.count(edge.CountRequest()),
        "segments_count": 1,
        "config": {
            "params": {"vectors": collection.dense, "sparse_vectors": collection.sparse},
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
            "optimizer_config": {"default_segment_number": 0, "flush_interval_sec": 5},
            "strict_mode_config": {"enabled": True, "unindexed_filtering_retrieve": False},
        },
        "payload_schema": {
            name: {"data_type": "keyword", "points": 0} for name in collection.indexed
        },
    }


def _add_index(collection: Collection, given: dict[str, Any]) -> dict[str, Any]:
    if given["field_schema"] != "keyword":
        raise Refused(501, "Only keyword indexes are made here")
    collection.shard.update(
        edge.UpdateOperation.create_field_index(given["field_name"], edge.PayloadSchemaType.Keyword)
    )
    collection.indexed.add(given["field_name"])
    return {"operation_id": 1, "status": "completed"}


def _retrieve(collection: Collection, given: dict[str, Any]) -> list[dict[str, Any]]:
    found = collection.shard.retrieve(given["ids"], given["with_payload"], False)
    return [{"id": str(record.id), "payload": record.payload} for record in found]


def _facet(collection: Collection, given: dict[str, Any]) -> dict[str, Any]:
    if given["key"] not in collection.indexed:
        raise _index_required(given["key"])
    answer = collection.shard.facet(
        edge.FacetRequest(
            given["key"], limit=given["limit"], filter=_filter(collection, given.get("filter"))
        )
    )
    return {"hits": [{"value": hit.value, "count": hit.count} for hit in answer.hits]}


def _filter(collection: Collection, given: dict[str, Any] | None) -> edge.Filter | None:
    if given is None:
        return None
    if given.keys() != {"must"}:
        raise Refused(501, f"The filter {given} is not served here")
    return edge.Filter(must=list(_conditions(collection, given["must"])))


def _conditions(collection: Collection, must: list[dict[str, Any]]) -> Iterator[Any]:
    for condition in must:
        key, match = condition["key"], condition["match"]
        if key not in collection.indexed:
            raise _index_required(key)
        wanted = edge.MatchAny(match["any"]) if "any" in match else edge.MatchValue(match["value"])
        yield edge.FieldCondition(key, match=wanted)


def _index_required(key: str) -> Refused:
    return Refused(
        400,
        f'Bad request: Index required but not found for "{key}" of one of the following types:'
        " [keyword]. Help: Create an index for this key or use a different filter.",
    )
