"""What `idea serve` compresses: the console's files, for those who read what is compressed."""

from pathlib import Path

import httpx
import pytest

from idea_explorer.api.server import ApiServer
from idea_explorer.console.assets import load_asset
from tests.fakes.api import Api
from tests.fakes.serving import Listening

APP = load_asset("app.js")
assert APP is not None
SCRIPT = APP.text


def get(
    folder: Path, encoding: str, path: str = "/console/app.js", known: str = ""
) -> httpx.Response:
    server = ApiServer(("127.0.0.1", 0), Api(folder).handle, lambda: "[]")
    with Listening(server), httpx.Client(base_url=server.url, trust_env=False) as client:
        return client.get(path, headers={"Accept-Encoding": encoding, "If-None-Match": known})


@pytest.mark.parametrize(
    "encoding", ["gzip, br", "GZIP", "br;q=1, gzip;q=0.001", "gzip ; Q=1", "*", "br;q=0, *;q=0.1"]
)
def test_a_file_of_the_console_is_sent_compressed(tmp_path: Path, encoding: str) -> None:
    response = get(tmp_path, encoding)

    assert response.text == SCRIPT
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["vary"] == "Accept-Encoding"
    assert int(response.headers["content-length"]) < len(SCRIPT) * 2 / 3


@pytest.mark.parametrize(
    "encoding",
    [
        "identity",
        "",
        "gzip;q=0",
        "br;q=1, gzip;q=0.0",
        "*, gzip;q=0",
        "*;q=0",
        "gzip;q=x",
        "gzipped",
    ],
)
def test_it_is_sent_as_it_is_to_those_who_do_not_read_gzip(tmp_path: Path, encoding: str) -> None:
    response = get(tmp_path, encoding)

    assert response.text == SCRIPT
    assert "content-encoding" not in response.headers
    assert response.headers["vary"] == "Accept-Encoding"  # a cache keeps both


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_who_has_it_in_either_form_is_told_that_it_is_the_same(
    tmp_path: Path, encoding: str
) -> None:
    etag = get(tmp_path, "gzip").headers["etag"]

    response = get(tmp_path, encoding, known=etag)

    assert etag.startswith('W/"')  # what is the same has not the same bytes
    assert (response.status_code, response.content) == (304, b"")
    assert (response.headers["etag"], response.headers["vary"]) == (etag, "Accept-Encoding")


def test_what_the_api_says_is_sent_as_it_is(tmp_path: Path) -> None:
    assert "content-encoding" not in get(tmp_path, "gzip", "/openapi.json").headers
