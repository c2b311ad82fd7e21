"""The calls of Tidal's API that the catalogue makes, by their names in Tidal's own description.

`make tidal-openapi` writes what the description says of each into tidal_openapi.json.
"""

ROUTES = (
    "GET /searchResults",
    "GET /searchResults/{id}/relationships/albums",
    "GET /searchResults/{id}/relationships/tracks",
    "GET /albums/{id}",
    "GET /albums/{id}/relationships/items",
    "GET /tracks",
)
# The resources that these answer with.
RESOURCES = ("albums", "artists", "artworks", "tracks")
