import gzip
import random
import socket
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.http.connections import FETCH_RULES, is_public_or_loopback
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.domain.errors import (
    AuthFailedError,
    BlockedAddressError,
    ExternalError,
    HttpError,
    NetworkError,
    RateLimitedError,
    ResponseTooLargeError,
    TimeSpentError,
    TooManyRedirectsError,
    UnavailableError,
    UnsupportedContentError,
    UpstreamTimeoutError,
)
from tests.fakes.web_server import Reply, WebServer, page, raw, redirect, reset, silence

TEXT = b"The quick brown fox. " * 200
RULES = replace(FETCH_RULES, ports=None, allow=is_public_or_loopback)


def local(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


@pytest.fixture
def pages() -> PublicHttp:
    return PublicHttp(SystemClock(), fetch_rules=RULES, resolver=local)


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer({}) as running:
        yield running


def test_a_page_comes_with_its_type_charset_and_bytes(pages: PublicHttp, server: WebServer) -> None:
    server.replies["/a?b=c"] = page("Grüße".encode("latin-1"), 'Text/HTML; Charset="ISO-8859-1"')
    fetched = pages.fetch(f"{server.url}/a?b=c#part")
    assert fetched.url == f"{server.url}/a?b=c#part"
    assert (fetched.status, fetched.content_type, fetched.charset) == (
        200,
        "text/html",
        "ISO-8859-1",
    )
    assert fetched.body == "Grüße".encode("latin-1")


def test_a_request_tells_who_asks_and_takes_only_what_can_be_unpacked_in_steps(
    pages: PublicHttp, server: WebServer
) -> None:
    server.replies["/"] = page()
    pages.fetch(f"{server.url}/")
    headers = server.requests[0].headers
    assert headers["user-agent"].startswith("idea-explorer/")
    assert headers["accept-encoding"] == "gzip, deflate"
    assert "authorization" not in headers


def test_proxies_of_the_environment_are_not_used(
    pages: PublicHttp, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.replies["/"] = page("direct")
    assert pages.fetch(f"{server.url}/").body == b"direct"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("GZIP ", gzip.compress(TEXT, mtime=0)),
        ("x-gzip", gzip.compress(TEXT, mtime=0)),
        ("gzip", gzip.compress(TEXT[:70]) + gzip.compress(b"") + gzip.compress(TEXT[70:])),
        ("gzip", gzip.compress(TEXT, mtime=0) + b"\0" * 8),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT, wbits=-15)),
        ("identity", TEXT),
        ("", TEXT),
    ],
)
@pytest.mark.parametrize("piece_size", [1, 1_000_000])
def test_packed_bodies_are_unpacked(
    pages: PublicHttp, server: WebServer, encoding: str, body: bytes, piece_size: int
) -> None:
    pieces = [body[at : at + piece_size] for at in range(0, len(body), piece_size)]
    server.replies["/"] = raw("200 OK", "text/plain", {"Content-Encoding": encoding}, pieces)
    assert pages.fetch(f"{server.url}/").body == TEXT


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "gzip, br", "rot13"])
def test_other_encodings_are_refused(pages: PublicHttp, server: WebServer, encoding: str) -> None:
    server.replies["/"] = page(TEXT, headers={"Content-Encoding": encoding})
    with pytest.raises(UnsupportedContentError, match="encoding"):
        pages.fetch(f"{server.url}/")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0)[:-20]),
        ("gzip", gzip.compress(TEXT, mtime=0)[:40] + b"x" * 100),
        ("deflate", b"\xff" * 50),
        ("deflate", zlib.compress(TEXT)[:-8]),
    ],
)
def test_broken_packing_is_an_error_not_half_a_page(
    pages: PublicHttp, server: WebServer, encoding: str, body: bytes
) -> None:
    server.replies["/"] = page(body, headers={"Content-Encoding": encoding})
    with pytest.raises(HttpError, match="encoding"):
        pages.fetch(f"{server.url}/")


@pytest.mark.parametrize(
    "content_type",
    ["text/html", "text/plain", "text/csv; header=present", "application/json", "application/ld+json",
     "application/xhtml+xml", "application/xml", "TEXT/HTML", "application/octet-stream", "", None],
)  # fmt: skip
def test_text_html_and_json_are_read(
    pages: PublicHttp, server: WebServer, content_type: str | None
) -> None:
    server.replies["/"] = page("{}", content_type)
    assert pages.fetch(f"{server.url}/").body == b"{}"


@pytest.mark.parametrize(
    "content_type",
    ["image/png", "video/mp4", "application/zip", "multipart/x-mixed-replace", "nonsense"],
)
def test_other_types_are_refused(pages: PublicHttp, server: WebServer, content_type: str) -> None:
    server.replies["/"] = page("<p>x", content_type)
    with pytest.raises(UnsupportedContentError):
        pages.fetch(f"{server.url}/")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<!doctype html><p>x", "text/html"),
        (b"plain words", "text/plain"),
        ("größer".encode("latin-1"), "text/plain"),
        (b"%PDF-1.7 x", "application/pdf"),
    ],
)
@pytest.mark.parametrize("declared", [None, "application/octet-stream"])
def test_what_comes_without_a_type_is_known_by_its_content(
    pages: PublicHttp, server: WebServer, declared: str | None, body: bytes, expected: str
) -> None:
    server.replies["/"] = page(body, declared)
    assert pages.fetch(f"{server.url}/").content_type == expected


@pytest.mark.parametrize("body", [b"\x89PNG\r\n\x1a\n", b"\0\1\2" * 50, b"PK\x03\x04"])
def test_what_comes_without_a_type_and_is_no_text_is_refused(
    pages: PublicHttp, server: WebServer, body: bytes
) -> None:
    server.replies["/"] = page(body, None)
    with pytest.raises(UnsupportedContentError):
        pages.fetch(f"{server.url}/")


@pytest.mark.parametrize("declared", ["application/pdf", "text/html"])
def test_a_pdf_may_be_larger_than_a_page(
    pages: PublicHttp, server: WebServer, declared: str
) -> None:
    content = b"%PDF-1.7 " + random.Random(1).randbytes(2_000_000)
    server.replies["/"] = raw("200 OK", declared, None, [content])
    server.replies["/packed"] = page(
        gzip.compress(content), declared, headers={"Content-Encoding": "gzip"}
    )
    server.replies["/large"] = raw("200 OK", declared, None, [b"%PDF-" + b"x" * 10_485_760])

    for path in ("/", "/packed"):
        fetched = pages.fetch(f"{server.url}{path}")
        assert (fetched.body == content, fetched.is_cut) == (True, False)
        assert fetched.content_type == "application/pdf"
    with pytest.raises(ResponseTooLargeError, match="PDF is larger than 10 MB"):
        pages.fetch(f"{server.url}/large")


def test_half_a_megabyte_fits_and_a_longer_page_is_cut(
    pages: PublicHttp, server: WebServer
) -> None:
    server.replies["/fits"] = raw("200 OK", "text/plain", None, [b"x" * 512_000])
    server.replies["/announced"] = page(b"x" * 512_001, "text/plain")
    server.replies["/not-announced"] = raw("200 OK", "text/plain", None, [b"x" * 512_001])
    for path in ("/fits", "/announced", "/not-announced"):
        fetched = pages.fetch(f"{server.url}{path}")
        assert len(fetched.body) == 512_000
        assert fetched.is_cut is (path != "/fits")


def test_redirects_are_followed_to_the_end(pages: PublicHttp, server: WebServer) -> None:
    server.replies |= {
        "/1": redirect("/2"),
        "/2": redirect(f"http://other.example:{server.port}/3", "301 Moved Permanently"),
        "/3": redirect("4?x=1", "307 Temporary Redirect"),
        "/4?x=1": redirect("/5", "308 Permanent Redirect"),
        "/5": redirect("/6", "303 See Other"),
        "/6": page("end"),
    }
    fetched = pages.fetch(f"{server.url}/1")
    assert fetched.body == b"end"
    assert fetched.url == f"http://other.example:{server.port}/6"


def test_a_sixth_redirect_is_too_many(pages: PublicHttp, server: WebServer) -> None:
    server.replies["/loop"] = redirect("/loop")
    with pytest.raises(TooManyRedirectsError):
        pages.fetch(f"{server.url}/loop")
    assert len(server.requests) == 6


def test_a_redirect_that_is_not_allowed_is_not_followed(
    pages: PublicHttp, server: WebServer
) -> None:
    server.replies["/"] = redirect("/elsewhere?q=1")
    server.replies["/elsewhere?q=1"] = page("there")
    with pytest.raises(BlockedAddressError, match="an operator has not allowed"):
        pages.fetch(f"{server.url}/", lambda url: "elsewhere" not in url)
    assert [request.path for request in server.requests] == ["/"]
    assert pages.fetch(f"{server.url}/", lambda _: True).body == b"there"


def test_cookies_last_for_one_fetch_only(pages: PublicHttp, server: WebServer) -> None:
    server.replies["/"] = page(
        status="302 Found", headers={"Location": "/in", "Set-Cookie": "seen=1; Path=/"}
    )
    server.replies["/in"] = page("welcome")
    pages.fetch(f"{server.url}/")
    pages.fetch(f"{server.url}/in")
    assert [request.headers.get("cookie") for request in server.requests] == [None, "seen=1", None]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("400 Bad Request", HttpError),
        ("401 Unauthorized", AuthFailedError),
        ("403 Forbidden", AuthFailedError),
        ("404 Not Found", HttpError),
        ("410 Gone", HttpError),
        ("429 Too Many Requests", RateLimitedError),
        ("500 Internal Server Error", UnavailableError),
        ("502 Bad Gateway", UnavailableError),
        ("503 Service Unavailable", UnavailableError),
        ("504 Gateway Timeout", UnavailableError),
        ("304 Not Modified", HttpError),
        ("302 Found", HttpError),
    ],
)
def test_a_status_says_whether_another_try_may_help(
    pages: PublicHttp, server: WebServer, status: str, kind: type[ExternalError]
) -> None:
    server.replies["/"] = page("no", status=status)
    with pytest.raises(kind, match=status[:3]) as caught:
        pages.fetch(f"{server.url}/")
    assert caught.value.retryable == (status[:3] in {"429", "500", "502", "503", "504"})


def test_a_rate_limit_says_for_how_long(pages: PublicHttp, server: WebServer) -> None:
    server.replies["/"] = page(status="429 Slow Down", headers={"Retry-After": "7"})
    with pytest.raises(RateLimitedError) as caught:
        pages.fetch(f"{server.url}/")
    assert caught.value.retry_after == 7


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_refused_connection_may_go_well_next_time(pages: PublicHttp) -> None:
    with pytest.raises(NetworkError) as caught:
        pages.fetch(f"http://127.0.0.1:{unused_port()}/")
    assert caught.value.retryable


@pytest.mark.parametrize(
    "reply",
    [
        reset,
        list,
        lambda: [b"HTTP/1.1 200 OK\r\nContent-Ty"],
        raw("200 OK", "text/plain", None, [b"half"], length=100),
        raw("200 OK", "text/plain", {"Transfer-Encoding": "chunked"}, [b"5\r\nhal"]),
    ],
)
def test_a_connection_that_breaks_off_may_go_well_next_time(
    pages: PublicHttp, server: WebServer, reply: Reply
) -> None:
    server.replies["/"] = reply
    with pytest.raises(NetworkError) as caught:
        pages.fetch(f"{server.url}/")
    assert caught.value.retryable


@pytest.mark.parametrize(
    "said",
    [b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"220 smtp ready\r\n\r\n", b"\0" * 400, b"HTTP/9 x\r\n\r\n"],
)
def test_what_is_no_http_is_not_tried_again(
    pages: PublicHttp, server: WebServer, said: bytes
) -> None:
    server.replies["/"] = lambda: [said]
    with pytest.raises(HttpError) as caught:
        pages.fetch(f"{server.url}/")
    assert not caught.value.retryable


def test_a_name_that_does_not_resolve_may_do_so_next_time() -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    with pytest.raises(NetworkError, match="resolved") as caught:
        PublicHttp(SystemClock(), resolver=unknown).fetch("http://nowhere.example/")
    assert caught.value.retryable


def test_a_resolver_that_hangs_is_not_waited_for() -> None:
    def hanging(host: str, port: int) -> Sequence[str]:
        list(silence())
        return []

    pages = PublicHttp(SystemClock(), resolver=hanging, silence_seconds=0.1)
    with pytest.raises(NetworkError, match="resolved"):
        pages.fetch("http://slow.example/")


def test_silence_may_end_next_time_while_there_is_time_left(server: WebServer) -> None:
    server.replies["/"] = silence
    pages = PublicHttp(SystemClock(), fetch_rules=RULES, silence_seconds=0.2)
    with pytest.raises(UpstreamTimeoutError) as caught:
        pages.fetch(f"{server.url}/")
    assert caught.value.retryable


def test_silence_to_the_end_is_not_tried_again(server: WebServer) -> None:
    server.replies["/"] = silence
    pages = PublicHttp(SystemClock(), fetch_rules=RULES, fetch_seconds=0.2)
    with pytest.raises(TimeSpentError) as caught:
        pages.fetch(f"{server.url}/")
    assert not caught.value.retryable


def test_another_address_of_a_name_is_tried_when_the_first_refuses(server: WebServer) -> None:
    def two(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.3", "127.0.0.1"]

    server.replies["/"] = page("second")
    pages = PublicHttp(SystemClock(), fetch_rules=RULES, resolver=two)
    assert pages.fetch(f"http://two.example:{server.port}/").body == b"second"


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("http://127.0.0.1:{port}:80/", HttpError),
        ("http://[::1/", HttpError),
        ("mailto:a@example.com", HttpError),
        ("mailto:", BlockedAddressError),
        ("\xff\xfe", HttpError),
    ],
)
def test_a_strange_redirect_is_an_error(
    pages: PublicHttp, server: WebServer, location: str, kind: type[ExternalError]
) -> None:
    server.replies["/"] = redirect(location.format(port=server.port))
    with pytest.raises(kind):
        pages.fetch(f"{server.url}/")


def test_headers_that_are_no_headers_do_not_get_through(
    pages: PublicHttp, server: WebServer
) -> None:
    strange: Mapping[str, str] = {"X": "a\r\n\x00b", "Content-Length": "9" * 5_000}
    server.replies["/"] = raw("200 OK", "text/plain", strange, [b"x"])
    with pytest.raises(ExternalError):
        pages.fetch(f"{server.url}/")
