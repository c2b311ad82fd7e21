"""What `idea serve` compresses: the console's files, for those who read what is compressed."""

from collections.abc import Mapping
from typing import Any

import httpx

from idea_explorer.api.http import LambdaContext
from idea_explorer.api.server import ApiServer
from tests.fakes.serving import Listening

SCRIPT = "export const one = 1;\n" * 100
TYPES = {"/console/a.js": "text/javascript; charset=utf-8", "/openapi.json": "application/json"}


def handle(event: Mapping[str, Any], _context: LambdaContext) -> dict[str, Any]:
    headers = {"Content-Type": TYPES[event["path"]]}
    return {"statusCode": 200, "headers": headers, "body": SCRIPT}


def get(path: str, encoding: str) -> httpx.Response:
    server = ApiServer(("127.0.0.1", 0), handle, lambda: "[]")
    with Listening(server), httpx.Client(base_url=server.url, trust_env=False) as client:
        return client.get(path, headers={"Accept-Encoding": encoding})


def test_a_file_of_the_console_is_sent_compressed() -> None:
    response = get("/console/a.js", "gzip, br")

    assert response.text == SCRIPT
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["vary"] == "Accept-Encoding"
    assert int(response.headers["content-length"]) < len(SCRIPT) / 2


def test_it_is_sent_as_it_is_to_those_who_do_not_ask() -> None:
    response = get("/console/a.js", "identity")

    assert response.text == SCRIPT
    assert "content-encoding" not in response.headers
    assert response.headers["vary"] == "Accept-Encoding"  # a cache keeps both


def test_what_the_api_says_is_sent_as_it_is() -> None:
    assert "content-encoding" not in get("/openapi.json", "gzip").headers
