"""Qdrant's HTTP API as far as the track index uses it: collections, points, hybrid queries, facets.

Strict where Qdrant is: unknown collections are 404, unknown vector names and wrong sizes are 400.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.json_server import JsonServer, Reply, Request

K1, B, AVERAGE_LENGTH = 1.2, 0.75, 256
STOPWORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or so the to".split()
)


class Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.reply = Reply(status, {"status": {"error": reason}, "time": 0.0})


@dataclass
class Collection:
    sizes: dict[str, int]
    sparse: dict[str, str | None]
    indexed: set[str] = field(default_factory=set)
    points: dict[str, dict[str, Any]] = field(default_factory=dict)


class FakeQdrant(JsonServer):
    def __init__(self, *, api_key: str | None = None) -> None:
        super().__init__()
        self.collections: dict[str, Collection] = {}
        self._api_key = api_key

    def handle(self, request: Request) -> Reply:
        try:
            if self._api_key and request.headers.get("api-key") != self._api_key:
                raise Refused(401, "Must provide an API key or an Authorization bearer token")
            result = self._route(request)
        except Refused as refused:
            return refused.reply
        return Reply(200, {"result": result, "status": "ok", "time": 0.0})

    def _route(self, request: Request) -> Any:
        _, _, name, *rest = request.path.split("/")
        if (request.method, rest) == ("PUT", []):
            return self._create(name, request.json())
        if name not in self.collections:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        collection = self.collections[name]
        match request.method, rest:
            case "GET", []:
                return _info(collection)
            case "PUT", ["index"]:
                collection.indexed.add(request.json()["field_name"])
                return {"operation_id": 1, "status": "completed"}
            case "PUT", ["points"]:
                for point in request.json()["points"]:
                    _upsert(collection, point)
                return {"operation_id": 2, "status": "completed"}
            case "POST", ["points"]:
                return _retrieve(collection, request.json())
            case "POST", ["points", "query", "batch"]:
                return [_query(collection, search) for search in request.json()["searches"]]
            case "POST", ["facet"]:
                return _facet(collection, request.json())
        raise Refused(404, "")

    def _create(self, name: str, given: dict[str, Any]) -> bool:
        if name in self.collections:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        self.collections[name] = Collection(
            sizes={vector: params["size"] for vector, params in given["vectors"].items()},
            sparse={
                vector: params.get("modifier") for vector, params in given["sparse_vectors"].items()
            },
        )
        return True


def _info(collection: Collection) -> dict[str, Any]:
    vectors = {
        name: {"size": size, "distance": "Cosine"} for name, size in collection.sizes.items()
    }
    sparse = {name: {"modifier": modifier} for name, modifier in collection.sparse.items()}
    return {
        "status": "green",
        "points_count": len(collection.points),
        "config": {"params": {"vectors": vectors, "sparse_vectors": sparse}},
        "payload_schema": {name: {"data_type": "keyword"} for name in collection.indexed},
    }


def _upsert(collection: Collection, point: dict[str, Any]) -> None:
    vectors: dict[str, Any] = {}
    for name, given in point["vector"].items():
        if name in collection.sparse:
            assert given["model"] == "qdrant/bm25"
            vectors[name] = _terms(given["text"])
        elif name in collection.sizes:
            _check_size(collection, name, given)
            vectors[name] = _unit(given)
        else:
            raise Refused(400, f"Wrong input: Not existing vector name error: {name}")
    collection.points[point["id"]] = {"payload": point["payload"], "vectors": vectors}


def _retrieve(collection: Collection, given: dict[str, Any]) -> list[dict[str, Any]]:
    wanted = given["with_payload"]
    return [
        {"id": point_id, "payload": _payload(collection.points[point_id], wanted)}
        for point_id in given["ids"]
        if point_id in collection.points
    ]


def _payload(point: dict[str, Any], wanted: bool | list[str]) -> dict[str, Any]:
    payload: dict[str, Any] = point["payload"]
    return payload if wanted is True else {key: payload[key] for key in wanted or []}


def _query(collection: Collection, search: dict[str, Any]) -> dict[str, Any]:
    using = search["using"]
    if using in collection.sparse:
        scores = _bm25(collection, using, search["query"]["text"])
    elif using in collection.sizes:
        _check_size(collection, using, search["query"])
        query = _unit(search["query"])
        scores = {
            point_id: sum(a * b for a, b in zip(query, point["vectors"][using], strict=True))
            for point_id, point in collection.points.items()
            if using in point["vectors"]
        }
    else:
        raise Refused(400, f"Wrong input: Not existing vector name error: {using}")
    floor = search.get("score_threshold", -math.inf)
    kept = [
        (score, point_id)
        for point_id, score in scores.items()
        if score >= floor and _passes(collection.points[point_id], search.get("filter"))
    ]
    kept.sort(key=lambda pair: -pair[0])
    return {
        "points": [
            {
                "id": point_id,
                "version": 0,
                "score": score,
                "payload": _payload(collection.points[point_id], search["with_payload"]),
            }
            for score, point_id in kept[: search["limit"]]
        ]
    }


def _bm25(collection: Collection, using: str, text: str) -> dict[str, float]:
    """Term weights as the server makes them, times the IDF that the modifier adds."""
    scores: dict[str, float] = {}
    total = len(collection.points)
    for term in _terms(text):
        holding = {
            point_id: point["vectors"][using]
            for point_id, point in collection.points.items()
            if term in point["vectors"][using]
        }
        idf = math.log((total - len(holding) + 0.5) / (len(holding) + 0.5) + 1)
        for point_id, terms in holding.items():
            often = terms[term]
            length = 1 - B + B * sum(terms.values()) / AVERAGE_LENGTH
            weight = often * (K1 + 1) / (often + K1 * length)
            scores[point_id] = scores.get(point_id, 0.0) + idf * weight
    return scores


def _facet(collection: Collection, given: dict[str, Any]) -> dict[str, Any]:
    key = given["key"]
    if key not in collection.indexed:
        raise Refused(400, f"Bad request: No appropriate index for faceting: `{key}`")
    counts = Counter(
        point["payload"][key]
        for point in collection.points.values()
        if _passes(point, given.get("filter"))
    )
    hits = [{"value": value, "count": count} for value, count in counts.most_common(given["limit"])]
    return {"hits": hits}


def _passes(point: dict[str, Any], condition: dict[str, Any] | None) -> bool:
    for must in (condition or {}).get("must", []):
        value, match = point["payload"].get(must["key"]), must["match"]
        if value not in match.get("any", [match.get("value")]):
            return False
    return True


def _check_size(collection: Collection, name: str, vector: list[float]) -> None:
    size = collection.sizes[name]
    if len(vector) != size:
        raise Refused(
            400, f"Wrong input: Vector dimension error: expected dim: {size}, got {len(vector)}"
        )


def _unit(vector: list[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


def _terms(text: str) -> Counter[str]:
    words = (word for word in re.findall(r"\w+", text.lower()) if word not in STOPWORDS)
    return Counter(re.sub(r"(?:ing|ed|es|s|e|y)$", "", word) for word in words)
