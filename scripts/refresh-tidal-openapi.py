"""Writes tests/fakes/tidal_openapi.json: the part of Tidal's own description that the test Tidal keeps to.

The description is the one that Tidal's web SDK is generated from. npm's `@tidal-music/api` holds the
types made of it, but older ones: up to 0.43 a search was a path, which the service refuses since August 2026.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.openapi_extract import Extract, download, write
from tests.fakes.tidal_routes import RESOURCES, ROUTES

URL = (
    "https://raw.githubusercontent.com/tidal-music/tidal-sdk-web/main/"
    "packages/api/bin/tidal-api-oas.json"
)


def main() -> None:
    extract = Extract(download(URL), "TIDAL API", responses=True, types=RESOURCES)
    write(extract.of(ROUTES), "tidal_openapi.json")


if __name__ == "__main__":
    main()
