"""Servers that mean harm: every answer is an error in time, and takes little memory."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from idea_explorer.domain.errors import ExternalError
from tests.fakes.fetching import fetcher, local_pages
from tests.fakes.web_server import (
    BROTLI_BOMB,
    Reply,
    WebServer,
    deflate_bomb,
    empty_members,
    forever,
    gzip_bomb,
    page,
    raw,
    redirect,
)

HEAD = b"HTTP/1.1 200 OK\r\n"
MAX_EXTRA_MEGABYTES = 32


def packed(encoding: str, body: bytes) -> Reply:
    return page(body, headers={"Content-Encoding": encoding})


def endless(piece: bytes, *, every: float = 0.0, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda: raw("200 OK", "text/html", named, forever(piece, every=every))()


def dripping(start: bytes, piece: bytes) -> Reply:
    def pieces() -> Iterator[bytes]:
        yield start
        yield from forever(piece, every=0.05)

    return pieces


def flooding(start: bytes, piece: bytes) -> Reply:
    def pieces() -> Iterator[bytes]:
        yield start
        yield from forever(piece)

    return pieces


# name: (what the server says, the error types that may come of it)
HOSTILE: dict[str, tuple[Reply, set[str]]] = {
    "brotli-bomb": (packed("br", BROTLI_BOMB), {"unsupported_content_type"}),
    "double-bomb": (packed("gzip, gzip", gzip_bomb()), {"unsupported_content_type"}),
    "empty-members": (endless(empty_members(500), content_encoding="gzip"), {"response_too_large"}),
    "endless-gzip-header": (
        flooding(
            HEAD + b"Content-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
            + b"\x1f\x8b\x08\x08\0\0\0\0\0\0", b"n" * 65_536
        ),
        {"response_too_large"},
    ),
    "header-flood": (flooding(HEAD, b"X-Many: " + b"y" * 60_000 + b"\r\n"), {"http_error"}),
    "long-header": (flooding(HEAD + b"X-Long: ", b"y" * 60_000), {"http_error"}),
    "continue-flood": (flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), {"timeout"}),
    "drip-status": (dripping(b"", b"H"), {"timeout", "http_error"}),
    "drip-header": (dripping(HEAD, b"X-Slow: 1\r\n"), {"timeout"}),
    "drip-body": (dripping(HEAD + b"Content-Type: text/html\r\n\r\n", b"x"), {"timeout"}),
    "drip-chunks": (
        dripping(
            HEAD + b"Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"
        ),
        {"timeout"},
    ),
    "redirect-loop": (redirect("/redirect-loop"), {"too_many_redirects"}),
    "redirect-inside": (redirect("http://10.0.0.1/"), {"blocked_address"}),
    "redirect-metadata": (redirect("http://169.254.169.254/latest/"), {"blocked_address"}),
    "image": (page(b"\x89PNG" * 1_000, "image/png"), {"unsupported_content_type"}),
}  # fmt: skip


def text_page(body: str | bytes, charset: str = "utf-8") -> Reply:
    return page(body, f"text/html; charset={charset}")


# pages of which no more is read than half a megabyte
LONG: dict[str, Reply] = {
    "gzip-bomb": packed("gzip", gzip_bomb()),
    "gzip-members": packed("gzip", gzip.compress(b"x" * 400_000) * 2),
    "deflate-bomb": packed("deflate", deflate_bomb()),
    "raw-deflate-bomb": packed("deflate", deflate_bomb(header=False)),
    "endless": endless(b"<p>more</p>" * 1_000),
    "endless-chunks": endless(b"10000\r\n" + b"x" * 65_536 + b"\r\n", transfer_encoding="chunked"),
    "announced": raw(
        "200 OK", "text/html", {"Content-Length": "9" * 18}, [b"x" * 300_000, b"x" * 300_000]
    ),
}

# pages that are within the limits and ask for much work or memory
HEAVY: dict[str, Reply] = {
    "deep": text_page("<a><b>" * 80_000),
    "flat": text_page("<br>" * 128_000),
    "links": text_page("<a href='/x'>y</a>" * 28_000),
    "comments": text_page("<!--" * 128_000),
    "tags": text_page('<a a=">" ' * 56_000),
    "entities": text_page("&#" + "9" * 500_000),
    "charset": text_page(b"\xff\xfe\x00" * 170_000, "utf-7"),
    "punycode": text_page(b"a-" * 250_000, "punycode"),
    "rot13": text_page("uryyb" * 100_000, "rot13"),
    "utf-16": text_page(b"\x00\xd8" * 250_000, "utf-16"),
    "wrong-utf-8": text_page(b"caf\xe9 " * 100_000),
}


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    replies = {f"/{name}": reply for name, (reply, _) in HOSTILE.items()}
    pages = {f"/{name}": reply for name, reply in (LONG | HEAVY).items()}
    with WebServer(replies | pages) as running:
        yield running


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_ends_in_a_clear_error(server: WebServer, name: str) -> None:
    _, expected = HOSTILE[name]
    pages = local_pages(seconds=0.6 if "timeout" in expected else 10.0)
    with pytest.raises(ExternalError) as caught:
        pages.fetch(f"{server.url}/{name}")
    assert caught.value.error_type in expected
    assert not caught.value.retryable


@pytest.mark.parametrize("name", LONG)
def test_of_a_page_without_end_the_beginning_is_read(server: WebServer, name: str) -> None:
    fetched = local_pages().fetch(f"{server.url}/{name}")
    assert (len(fetched.body), fetched.is_cut) == (512_000, True)


@pytest.mark.parametrize("name", HEAVY)
def test_a_page_that_asks_for_much_work_is_still_read(server: WebServer, name: str) -> None:
    fields = fetcher()(f"{server.url}/{name}")
    text = fields["text"]
    assert isinstance(text, str)
    assert len(text) <= 100_000
    json.dumps(fields).encode()


@pytest.mark.slow  # thirty pages, one after the other, in a process of its own
def test_nothing_of_it_takes_much_memory(server: WebServer) -> None:
    """In a process of its own: the peak over what a harmless page has taken before."""
    server.replies["/harmless"] = page("<p>hello</p>" * 100)
    urls = [f"{server.url}/{name}" for name in ("harmless", *HOSTILE, *LONG, *HEAVY)]
    root = Path(__file__).parents[4]
    measured = subprocess.run(
        [sys.executable, "-m", "tests.fakes.fetching", *urls],
        cwd=root,
        capture_output=True,
        check=True,
        text=True,
    )
    extra: dict[str, float] = json.loads(measured.stdout)
    assert list(extra) == urls
    assert max(extra.values()) <= MAX_EXTRA_MEGABYTES, extra
