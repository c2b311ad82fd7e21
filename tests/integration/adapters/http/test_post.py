import ssl
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.http.connections import WEBHOOK_RULES, is_public_or_loopback
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.domain.errors import (
    BlockedAddressError,
    ExternalError,
    HttpError,
    NetworkError,
    RateLimitedError,
    TimeSpentError,
    UnavailableError,
)
from tests.fakes.certificate import self_signed
from tests.fakes.web_server import WebServer, forever, page, raw, redirect, reset, silence

RULES = replace(WEBHOOK_RULES, allow=is_public_or_loopback)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for hooks.example and 127.0.0.1, with its key, in one file."""
    return self_signed(tmp_path_factory.mktemp("tls") / "server.pem", "hooks.example")


@pytest.fixture
def server(certificate: Path) -> Iterator[WebServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with WebServer({}, tls=context) as running:
        yield running


@pytest.fixture
def http(certificate: Path) -> PublicHttp:
    return PublicHttp(
        SystemClock(),
        post_rules=RULES,
        resolver=local,
        ssl_context=ssl.create_default_context(cafile=str(certificate)),
    )


def local(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def test_a_post_arrives_word_for_word(http: PublicHttp, server: WebServer) -> None:
    server.replies["/hook"] = page("ok", status="202 Accepted")
    body = b'{"id": "1", "text": "gr\xc3\xbc\xc3\x9fe"}'
    headers = {"content-type": "application/json", "webhook-id": "msg_1"}
    status = http.post(f"https://hooks.example:{server.port}/hook", body, headers, 5.0)
    received = server.requests[0]
    assert status == 202
    assert (received.method, received.body) == ("POST", body)
    assert received.headers["webhook-id"] == "msg_1"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["host"] == f"hooks.example:{server.port}"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_a_redirect_is_refused(http: PublicHttp, server: WebServer, status: str) -> None:
    server.replies["/"] = redirect("/elsewhere", status)
    with pytest.raises(HttpError, match="redirect"):
        http.post(f"{server.url}/", b"{}", {}, 5.0)
    assert [request.path for request in server.requests] == ["/"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("400 Bad", HttpError),
        ("404 Missing", HttpError),
        ("429 Slow", RateLimitedError),
        ("500 Broken", UnavailableError),
        ("503 Busy", UnavailableError),
    ],
)
def test_only_a_2xx_is_a_delivery(
    http: PublicHttp, server: WebServer, status: str, kind: type[ExternalError]
) -> None:
    server.replies["/"] = page("", status=status)
    with pytest.raises(kind, match=status[:3]):
        http.post(f"{server.url}/", b"{}", {}, 5.0)


def test_a_certificate_of_another_name_is_refused(http: PublicHttp, server: WebServer) -> None:
    with pytest.raises(HttpError, match="TLS"):
        http.post(f"https://other.example:{server.port}/", b"{}", {}, 5.0)
    assert server.requests == []


def test_a_certificate_of_an_unknown_issuer_is_refused(server: WebServer) -> None:
    with pytest.raises(HttpError, match="TLS"):
        PublicHttp(SystemClock(), post_rules=RULES).post(f"{server.url}/", b"{}", {}, 5.0)
    assert server.requests == []


def test_a_server_without_tls_is_an_error(http: PublicHttp) -> None:
    with (
        WebServer({"/": page("plain")}) as plain,
        pytest.raises((HttpError, NetworkError)),
    ):
        http.post(f"https://127.0.0.1:{plain.port}/", b"{}", {}, 5.0)


def test_plain_http_is_refused(http: PublicHttp) -> None:
    with WebServer({"/": page()}) as plain, pytest.raises(BlockedAddressError, match="https"):
        http.post(f"{plain.url}/", b"{}", {}, 5.0)
    assert plain.requests == []


def test_loopback_is_refused_unless_the_rules_were_built_to_allow_it(server: WebServer) -> None:
    with pytest.raises(BlockedAddressError):
        PublicHttp(SystemClock()).post(f"{server.url}/", b"{}", {}, 5.0)
    assert server.requests == []


def test_a_connection_that_breaks_off_may_go_well_next_time(
    http: PublicHttp, server: WebServer
) -> None:
    server.replies["/"] = reset
    with pytest.raises(NetworkError) as caught:
        http.post(f"{server.url}/", b"{}", {}, 5.0)
    assert caught.value.retryable


def test_a_receiver_that_drips_or_is_silent_is_cut_off(http: PublicHttp, server: WebServer) -> None:
    server.replies["/silent"] = silence
    server.replies["/drips"] = lambda: forever(b"X", every=0.02)
    for path in ("/silent", "/drips"):
        with pytest.raises(TimeSpentError):
            http.post(f"{server.url}{path}", b"{}", {}, 0.3)


def test_what_the_receiver_says_is_not_read(http: PublicHttp, server: WebServer) -> None:
    server.replies["/"] = raw("200 OK", "text/plain", None, forever(b"x" * 65_536))
    assert http.post(f"{server.url}/", b"{}", {}, 5.0) == 200
