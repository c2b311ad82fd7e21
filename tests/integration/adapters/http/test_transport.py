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


def respond(*headers: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 200 OK", *headers, b"", b""])


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


def record(received: list[bytes], end: bytes) -> Serve:
    """Keeps a request that ends in this, and responds."""

    def serve(connected: socket.socket) -> None:
        data = b""
        while not data.endswith(end):
            data += connected.recv(65_536)
        received.append(data)
        connected.sendall(OK)

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
        ([b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n", OK], b"ok"),
        ([b"HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 103 Hints\r\nlink: a\r\n\r\n" + OK], b"ok"),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
        ([b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n"], b""),
        ([b"HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n"], b""),
        ([b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok"], b"ok"),
        ([respond(b"transfer-encoding: chunked "), b"1\r\na\r\n0\r\n\r\n"], b"a"),
        ([CHUNKED, b"1;x=y\r\na\r\n0\r\nx-last: 1\r\n\r\n"], b"a"),
        ([respond(b"content-length: 2, 2"), b"ok"], b"ok"),
        ([respond(b"Content-Length: 2"), b"ok"], b"ok"),
        ([respond(b"TRANSFER-ENCODING: Chunked"), b"1\r\na\r\n0\r\n\r\n"], b"a"),
        ([respond(*[b"x-name: a"] * 90, b"content-length: 2"), b"ok"], b"ok"),
        ([CHUNKED, b"000", b"2\r", b"\nab\r", b"\n0\r\n", b"\r\n"], b"ab"),
        ([b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok"], b"ok"),
        ([respond(b"content-length: 2", b"content-length: 2"), b"ok"], b"ok"),
        (
            [respond(b"content-length: 9", b"transfer-encoding: chunked"), b"1\r\na\r\n0\r\n\r\n"],
            b"a",
        ),
    ],
)
def test_a_body_is_read_however_it_ends(
    client: httpx2.Client, parts: list[bytes], body: bytes
) -> None:
    with server(send(*parts, pause=0.01)) as url:
        assert client.get(url).content == body


def test_a_response_has_its_headers_and_reason(client: httpx2.Client) -> None:
    head = (
        b"HTTP/1.1 404 Gone Fishing\r\nX-Name: caf\xe9 \r\nset-cookie: a\r\nset-cookie: b\r\n"
        b"x-utf8: \xc3\x85se\r\nx-folded: one\r\n \ttwo\r\n"
    )
    with server(send(head + b"content-length: 0\r\n\r\n")) as url:
        response = client.get(url)

    assert (response.status_code, response.reason_phrase) == (404, "Gone Fishing")
    assert response.http_version == "HTTP/1.1"
    assert response.headers["x-name"] == "café"
    assert response.headers.get_list("set-cookie") == ["a", "b"]
    assert dict(response.headers.raw)[b"x-utf8"].decode() == "Åse"
    assert response.headers["x-folded"] == "one two"


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

    with server(record(received, b'{"a":1}')) as url:
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
        (send(CHUNKED, b"0x2\r\nab\r\n0\r\n\r\n"), httpx2.RemoteProtocolError),
        (send(CHUNKED, b"2\r\nabcd\r\n0\r\n\r\n"), httpx2.RemoteProtocolError),
        (send(CHUNKED, b"0002\r\nok\r\n00"), httpx2.RemoteProtocolError),
        (send(CHUNKED, b"2\nok\n0\n\n"), httpx2.RemoteProtocolError),
        (send(CHUNKED, b"2\r\nok\r\n0\r\n"), httpx2.RemoteProtocolError),
        (send(CHUNKED, b"2\r\nok\r\n0\r\nno header\r\n\r\n"), httpx2.RemoteProtocolError),
        (send(b"HTTP/1.1 103 Early Hints\r\n\r\n"), httpx2.RemoteProtocolError),
        (send(b"HTTP/1.1 101 Switching\r\n\r\n"), httpx2.RemoteProtocolError),
    ],
)
def test_a_failure_is_named_as_httpx2_does(
    client: httpx2.Client, serve: Serve, error: type[Exception]
) -> None:
    with server(serve) as url, pytest.raises(error) as raised:
        client.get(url, timeout=SHORT)

    assert raised.type is error


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-len",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n",
        respond(b"no colon", b"content-length: 2"),
        respond(b"content-length : 2"),
        respond(b": no name", b"content-length: 2"),
        respond(b"x-name: a\rcontent-length: 2"),
        respond(b" continues nothing", b"content-length: 2"),
        respond(*[b"x-name: a"] * 20_000, b"content-length: 2"),
        respond(b"x-name: " + b"a" * 200_000, b"content-length: 2"),
        respond(b"content-length: \xa02"),
        b"HTTP/1.1 2000 OK\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 2_0 OK\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 +20 OK\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 200 O\0K\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/2 200 OK\r\ncontent-length: 2\r\n\r\n",
        respond(b"x-name: a\0b", b"content-length: 2"),
        respond(b"content-length: 2", b"content-length: 3"),
        respond(b"content-length: 2, 3"),
        respond(b"content-length: -2"),
        respond(b"content-length: +2"),
        respond(b"content-length: 0_2"),
        respond(b"content-length: two"),
        respond(b"transfer-encoding: gzip, chunked"),
        respond(b"transfer-encoding: identity", b"content-length: 2"),
        respond(b"transfer-encoding: chunked", b"transfer-encoding: chunked"),
    ],
)
def test_a_head_that_leaves_the_body_in_doubt_is_an_error(
    client: httpx2.Client, head: bytes
) -> None:
    body = b"ok" if head.endswith(b"\r\n\r\n") else b""
    with server(send(head + body)) as url, pytest.raises(httpx2.RemoteProtocolError):
        client.get(url)


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


@pytest.mark.parametrize("value", ["Bearer a\nb", "Bearer a\r\n b", "Bearer a\0b"])
def test_a_header_that_cannot_be_sent_is_refused_here(client: httpx2.Client, value: str) -> None:
    with server(send(OK)) as url, pytest.raises(httpx2.LocalProtocolError):
        client.get(url, headers={"Authorization": value})


def test_an_error_does_not_quote_the_header_that_cannot_be_sent() -> None:
    transport = Http11Transport(ssl.create_default_context())
    with (
        server(send(OK)) as url,
        httpx2.Client(transport=transport) as http,
        pytest.raises(httpx2.LocalProtocolError) as raised,
    ):
        http.get(url, headers={"Authorization": "Bearer secret\n"})

    assert "Authorization" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_what_cannot_be_the_name_of_a_host_is_a_connect_error() -> None:
    transport = Http11Transport(ssl.create_default_context())
    with httpx2.Client(transport=transport) as http, pytest.raises(httpx2.ConnectError):
        http.get(f"http://{'a' * 64}.example/")


def test_a_body_of_unknown_length_is_sent_in_chunks(client: httpx2.Client) -> None:
    received: list[bytes] = []

    with server(record(received, b"0\r\n\r\n")) as url:
        client.post(url, content=iter([b"ab", b"cd"]))

    head, _, body = received[0].partition(b"\r\n\r\n")
    assert b"\r\ntransfer-encoding: chunked" in head.lower()
    assert body in (b"4\r\nabcd\r\n0\r\n\r\n", b"2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n")


def test_an_empty_body_of_unknown_length_is_one_last_chunk(client: httpx2.Client) -> None:
    received: list[bytes] = []

    with server(record(received, b"0\r\n\r\n")) as url:
        client.post(url, content=iter([b""]))

    assert received[0].endswith(b"\r\n\r\n0\r\n\r\n")


def test_no_line_is_added_to_a_request() -> None:
    """httpx2 takes whatever is given as a method or as the name of a header."""
    transport = Http11Transport(ssl.create_default_context())
    with server(send(OK)) as url, httpx2.Client(transport=transport) as http:
        with pytest.raises(httpx2.LocalProtocolError):
            http.request("GET / HTTP/1.1\r\nx-added: 1\r\nx:", url)
        with pytest.raises(httpx2.LocalProtocolError):
            http.get(url, headers={"x-name: 1\r\nx-added": "1"})


def test_a_large_body_may_take_longer_than_the_timeout_of_a_write(client: httpx2.Client) -> None:
    size = 30_000_000

    def serve(connected: socket.socket) -> None:
        received = 0
        while received < size:
            received += len(connected.recv(300_000))
            time.sleep(0.006)  # over half a second for all of it
        connected.sendall(OK)

    with server(serve) as url:
        response = client.post(url, content=b"x" * size, timeout=httpx2.Timeout(5.0, write=0.3))

    assert response.content == b"ok"


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


@pytest.mark.parametrize(
    ("response", "is_reused"),
    [
        (OK, True),
        (respond(b"Connection: Close", b"content-length: 2") + b"ok", False),
        (respond(b"connection: x, close", b"content-length: 2") + b"ok", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", False),
        (b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok", False),
        (CHUNKED + b"2\r\nok\r\n0\r\n\r\n", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", True),
    ],
)
def test_a_connection_is_used_again_as_the_server_says(
    client: httpx2.Client, response: bytes, is_reused: bool
) -> None:
    connections: list[int] = []

    def serve(connected: socket.socket) -> None:
        connections.append(0)
        while connected.recv(65_536):
            connections[-1] += 1
            connected.sendall(response)

    with server(serve) as url:
        for _ in range(2):
            client.get(url)

    assert connections == ([2] if is_reused else [1, 1])


def test_a_response_to_head_has_no_body(client: httpx2.Client) -> None:
    connections: list[int] = []

    def serve(connected: socket.socket) -> None:
        connections.append(0)
        while connected.recv(65_536):
            connected.sendall(OK[:-2])

    with server(serve) as url:
        assert [client.head(url, timeout=SHORT).content for _ in range(2)] == [b"", b""]

    assert len(connections) == 1


def test_a_server_that_does_not_read_ends_a_write(client: httpx2.Client) -> None:
    timeout = httpx2.Timeout(5.0, write=0.2)
    with server(lambda _: time.sleep(1.0)) as url, pytest.raises(httpx2.WriteTimeout):
        client.post(url, content=b"x" * 20_000_000, timeout=timeout)


def test_what_ends_a_response_does_not_end_the_next_one(client: httpx2.Client) -> None:
    """A stream is cancelled by another thread, which may come when all of it was read."""
    transport = Http11Transport(ssl.create_default_context())

    def serve(connected: socket.socket) -> None:
        while connected.recv(65_536):
            connected.sendall(OK)

    with server(serve) as url, httpx2.Client(transport=transport) as http:
        first = http.get(url)
        with http.stream("GET", url) as second:
            assert first.extensions["network_stream"].get_extra_info("socket") is None
            assert second.extensions["network_stream"].get_extra_info("socket") is not None
            assert second.read() == b"ok"


def test_a_connection_that_the_server_has_closed_is_closed_here_at_once(
    client: httpx2.Client,
) -> None:
    was_closed = threading.Event()

    def serve(connected: socket.socket) -> None:
        connected.recv(65_536)
        connected.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
        connected.shutdown(socket.SHUT_WR)
        while connected.recv(65_536):
            pass
        was_closed.set()

    with server(serve) as url:
        assert client.get(url).content == b"until the end"
        assert was_closed.wait(3.0)


def test_a_switch_of_protocols_is_named() -> None:
    transport = Http11Transport(ssl.create_default_context())
    switched = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"
    with (
        server(send(switched + OK)) as url,
        httpx2.Client(transport=transport) as http,
        pytest.raises(httpx2.RemoteProtocolError, match="nobody asked for"),
    ):
        http.get(url)


def test_interim_responses_without_end_are_an_error() -> None:
    transport = Http11Transport(ssl.create_default_context())
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n"
    with (
        server(send(hints * 100 + OK)) as url,
        httpx2.Client(transport=transport) as http,
        pytest.raises(httpx2.RemoteProtocolError, match="too many"),
    ):
        http.get(url)


def test_a_connection_is_not_used_again_after_a_body_that_cannot_be_read(
    client: httpx2.Client,
) -> None:
    connections: list[int] = []

    def serve(connected: socket.socket) -> None:
        connections.append(0)
        while connected.recv(65_536):
            connections[-1] += 1
            connected.sendall(CHUNKED + b"no number\r\n" if connections == [1] else OK)

    with server(serve) as url:
        with pytest.raises(httpx2.RemoteProtocolError):
            client.get(url)
        assert client.get(url).content == b"ok"

    assert connections == [1, 1]


def test_a_connection_on_which_more_arrives_than_was_asked_for_is_not_used_again(
    tmp_path: Path,
) -> None:
    """Of TLS, more than one record. httpx2's own transport would take it for the next response."""
    file = self_signed(tmp_path / "server.pem", "server.example")
    of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    of_server.load_cert_chain(file)
    trusting = ssl.create_default_context(cafile=file)
    connections: list[socket.socket] = []

    def serve(connected: socket.socket) -> None:
        connections.append(connected)
        while connected.recv(65_536):
            connected.sendall(OK + b"x" * 40_000)

    with (
        server(serve, of_server) as url,
        httpx2.Client(transport=Http11Transport(trusting)) as client,
    ):
        assert client.get(url).content == b"ok"
        assert client.get(url).content == b"ok"

    assert len(connections) == 2


@pytest.mark.parametrize("pause", [0.0, 0.02])
@pytest.mark.parametrize("response", [OK, CHUNKED + b"2\r\nok\r\n0\r\n\r\n"])
def test_a_response_that_nobody_asked_for_answers_no_request(response: bytes, pause: float) -> None:
    """Most of it was read together with the response before."""
    planted = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"
    connections: list[int] = []

    def serve(connected: socket.socket) -> None:
        connections.append(0)
        while connected.recv(65_536):
            connected.sendall(response + planted[:20])
            time.sleep(pause)
            connected.sendall(planted[20:])

    transport = Http11Transport(ssl.create_default_context())
    with server(serve) as url, httpx2.Client(transport=transport) as http:
        assert [http.get(url).content for _ in range(3)] == [b"ok"] * 3

    assert len(connections) == 3


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
