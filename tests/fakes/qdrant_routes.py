"""The calls of Qdrant's API that the track index makes, by their names in Qdrant's own description.

`make qdrant-openapi` writes what the description says of each into qdrant_openapi.json.
"""

_COLLECTION = "/collections/{collection_name}"
ROUTES = (
    f"GET {_COLLECTION}",
    f"PUT {_COLLECTION}",
    f"PUT {_COLLECTION}/index",
    f"PUT {_COLLECTION}/points",
    f"POST {_COLLECTION}/points",
    f"POST {_COLLECTION}/points/query/batch",
    f"POST {_COLLECTION}/facet",
)
