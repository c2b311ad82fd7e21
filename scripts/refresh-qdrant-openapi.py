"""Writes tests/fakes/qdrant_openapi.json: what the test Qdrant keeps to of Qdrant's description."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.openapi_extract import Extract, download, write
from tests.fakes.qdrant_routes import ROUTES

URL = "https://raw.githubusercontent.com/qdrant/qdrant/master/docs/redoc/master/openapi.json"


def main() -> None:
    extract = Extract(download(URL), "Qdrant API", responses=True)
    write(extract.of(ROUTES), "qdrant_openapi.json")


if __name__ == "__main__":
    main()
