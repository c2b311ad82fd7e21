"""Our transport for httpx2 beside httpx2's own: the same responses and the same errors."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from idea_explorer.adapters.http.transport import Http11Transport, make_transport
from tests.fakes.certificate import self_signed

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
SHORT = httpx2.Timeout(0.2)

Serve = Callable[[socket.socket], None]


@contextmanager
def server(serve: Serve, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serves each connection in a thread of its own, then closes it."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve_one(accepted: socket.socket) -> None:
        with accepted, suppress(OSError):  # the client may leave at any time
            connected = context.wrap_socket(accepted, server_side=True) if context else accepted
            with connected:
                serve(connected)

    def accept() -> None:
        while True:
            try:
                accepted, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve_one, args=(accepted,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def send(*parts: bytes, pause: float = 0.0) -> Serve:
    def serve(connected: socket.socket) -> None:
        connected.recv(65_536)
        for part in parts:
            connected.sendall(part)
            time.sleep(pause)

    return serve


def hang(connected: socket.socket) -> None:
    connected.recv(65_536)
    time.sleep(1.0)


def refuse_early(connected: socket.socket) -> None:
    """As a server does for which a request is too large."""
    connected.recv(1_000)
    connected.sendall(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    time.sleep(0.1)


@pytest.fixture(params=[Http11Transport, httpx2.HTTPTransport])
def make(request: pytest.FixtureRequest) -> Callable[[ssl.SSLContext], httpx2.BaseTransport]:
    made: Callable[[ssl.SSLContext], httpx2.BaseTransport] = request.param
    return made


@pytest.fixture
def client(make: Callable[[ssl.SSLContext], httpx2.BaseTransport]) -> Iterator[httpx2.Client]:
    with httpx2.Client(transport=make(ssl.create_default_context()), timeout=5.0) as http:
        yield http


@pytest.mark.parametrize(
    ("parts", "body"),
    [
        ([OK], b"ok"),
        ([CHUNKED, b"2\r\nab\r\n", b"1;x=y\r\nc\r\n0\r\n\r\n"], b"abc"),
        ([b"HTTP/1.1 200 OK\r\n\r\nuntil it is closed"], b"until it is closed"),
        ([b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\n", b"o", b"ld"], b"old"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", OK], b"ok"),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
    ],
)
def test_a_body_is_read_however_it_ends(
    client: httpx2.Client, parts: list[bytes], body: bytes
) -> None:
    with server(send(*parts, pause=0.01)) as url:
        assert client.get(url).content == body


def test_a_response_has_its_headers_and_reason(client: httpx2.Client) -> None:
    head = b"HTTP/1.1 404 Gone Fishing\r\nX-Name: caf\xe9\r\nset-cookie: a\r\nset-cookie: b\r\n"
    with server(send(head + b"content-length: 0\r\n\r\n")) as url:
        response = client.get(url)

    assert (response.status_code, response.reason_phrase) == (404, "Gone Fishing")
    assert response.http_version == "HTTP/1.1"
    assert response.headers["x-name"] == "café"
    assert response.headers.get_list("set-cookie") == ["a", "b"]


def test_what_has_arrived_is_not_held_back(client: httpx2.Client) -> None:
    with (
        server(send(CHUNKED, b"2\r\nab\r\n", b"2\r\ncd\r\n0\r\n\r\n", pause=0.2)) as url,
        client.stream("GET", url) as response,
    ):
        pieces = response.iter_bytes()
        began = time.monotonic()
        assert next(pieces) == b"ab"
        assert time.monotonic() - began < 0.3
        assert b"".join(pieces) == b"cd"


def test_the_request_is_sent_as_it_is(client: httpx2.Client) -> None:
    received: list[bytes] = []

    def serve(connected: socket.socket) -> None:
        data = b""
        while not data.endswith(b'{"a":1}'):
            data += connected.recv(65_536)
        received.append(data)
        connected.sendall(OK)

    with server(serve) as url:
        client.post(f"{url}a%2Fb?c=d%20e", headers={"X-Name": "value"}, content=b'{"a":1}')

    head, _, body = received[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /a%2Fb?c=d%20e HTTP/1.1\r\n")
    assert b"\r\nX-Name: value" in head
    assert head.lower().count(b"\r\nhost: ") == head.lower().count(b"\r\naccept-encoding: ") == 1
    assert b"content-length: 7" in head.lower()
    assert body == b'{"a":1}'


@pytest.mark.parametrize(
    ("serve", "error"),
    [
        (hang, httpx2.ReadTimeout),
        (send(CHUNKED, b"2\r\nab\r\n", pause=0.5), httpx2.ReadTimeout),
        (send(), httpx2.RemoteProtocolError),
        (send(b"nonsense\r\n\r\n"), httpx2.RemoteProtocolError),
        (send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort"), httpx2.RemoteProtocolError),
        (send(CHUNKED, b"9\r\nshort"), httpx2.RemoteProtocolError),
        (send(CHUNKED, b"2\r\nab\r\n"), httpx2.RemoteProtocolError),
        (send(CHUNKED, b"no number\r\n"), httpx2.RemoteProtocolError),
    ],
)
def test_a_failure_is_named_as_httpx2_does(
    client: httpx2.Client, serve: Serve, error: type[Exception]
) -> None:
    with server(serve) as url, pytest.raises(error) as raised:
        client.get(url, timeout=SHORT)

    assert raised.type is error


def test_a_server_that_cannot_be_reached_is_a_connect_error(client: httpx2.Client) -> None:
    with server(hang) as url:
        pass

    with pytest.raises(httpx2.ConnectError):
        client.get(url)
    with pytest.raises(httpx2.ConnectError):
        client.get("http://no-such-host.invalid/")
    with pytest.raises((httpx2.ConnectError, httpx2.ConnectTimeout)):
        client.get("http://[2001:db8::abcd]/", timeout=SHORT)  # an address that nobody has
    with pytest.raises(httpx2.UnsupportedProtocol):
        client.get("ftp://127.0.0.1/")


def test_a_header_that_cannot_be_sent_is_refused_here(client: httpx2.Client) -> None:
    with server(send(OK)) as url, pytest.raises(httpx2.LocalProtocolError):
        client.get(url, headers={"Authorization": "Bearer a\nb"})


def test_a_refusal_before_the_whole_request_was_read_is_a_response(client: httpx2.Client) -> None:
    with server(refuse_early) as url:
        assert client.post(url, content=b"x" * 20_000_000).status_code == 413


def test_a_connection_is_used_again_until_the_server_closes_it(client: httpx2.Client) -> None:
    served: list[int] = []

    def serve_two(connected: socket.socket) -> None:
        served.append(0)
        for _ in range(2):
            connected.recv(65_536)
            served[-1] += 1
            connected.sendall(OK)

    with server(serve_two) as url:
        for _ in range(2):
            assert client.get(url).content == b"ok"
        time.sleep(0.05)
        assert client.get(url).content == b"ok"
        with client.stream("GET", url):
            pass  # what is not read to its end is not used again
        assert client.get(url).content == b"ok"

    assert served == [2, 2, 1]


def test_another_thread_can_end_a_stream(client: httpx2.Client) -> None:
    with server(send(CHUNKED, b"2\r\nab\r\n", pause=2.0)) as url:
        with client.stream("GET", url) as response:
            connected = response.extensions["network_stream"].get_extra_info("socket")
            threading.Timer(0.1, connected.shutdown, [socket.SHUT_RDWR]).start()
            began = time.monotonic()
            with pytest.raises(httpx2.HTTPError):
                response.read()
        assert time.monotonic() - began < 1.5


def test_a_connection_is_secured_and_its_certificate_is_checked(
    make: Callable[[ssl.SSLContext], httpx2.BaseTransport], tmp_path: Path
) -> None:
    file = self_signed(tmp_path / "server.pem", "server.example")
    of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    of_server.load_cert_chain(file)

    with server(send(OK), of_server) as url:
        trusting = ssl.create_default_context(cafile=file)
        with httpx2.Client(transport=make(trusting)) as client:
            assert client.get(url).content == b"ok"
        with (
            httpx2.Client(transport=make(ssl.create_default_context())) as client,
            pytest.raises(httpx2.ConnectError, match="certificate"),
        ):
            client.get(url)


def test_a_proxy_of_the_environment_is_left_to_httpx2(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert isinstance(make_transport(ssl.create_default_context()), Http11Transport)

    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")

    assert make_transport(ssl.create_default_context()) is None
