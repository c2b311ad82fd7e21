"""What `idea serve` does with hostile connections, over raw sockets."""

import statistics
import threading
import time
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from idea_explorer.api.connections import ConnectionLimits
from idea_explorer.api.server import ApiServer
from idea_explorer.domain import limits
from idea_explorer.domain.tokens import dump_tokens, make_token_record
from tests.fakes.clock import START
from tests.fakes.raw_http import RawConnection
from tests.fakes.served import TOKEN
from tests.fakes.serving import Listening

TOKENS = dump_tokens([make_token_record(TOKEN, "ada", now=START)])
BEARER = f"Authorization: Bearer {TOKEN}"
LIMITS = ConnectionLimits(connections=12, connections_per_peer=8, discard_seconds=0.3)
HASTY = replace(LIMITS, head_seconds=0.4, body_seconds=0.4, idle_seconds=1, response_seconds=0.4)
JSON_BODY = '{"idea": "bees"}'


class Called:
    """A handler that remembers the events and answers with their number."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, Any]] = []
        self.released = threading.Event()
        self.body: str | Iterator[str] = ""

    def __call__(self, event: Mapping[str, Any], _context: object) -> dict[str, Any]:
        self.events.append(event)
        if event["path"] == "/wait":
            self.released.wait(10)
        body = self.body or str(len(self.events))
        return {"statusCode": 200, "multiValueHeaders": {"A": ["1"]}, "body": body}


@pytest.fixture
def called() -> Called:
    return Called()


@contextmanager
def serving(called: Called, **options: Any) -> Iterator[ApiServer]:
    server = ApiServer(("127.0.0.1", 0), called, lambda: TOKENS, **{"limits": LIMITS, **options})
    with Listening(server):
        yield server


@pytest.fixture
def server(called: Called) -> Iterator[ApiServer]:
    with serving(called) as listening:
        yield listening


@pytest.fixture
def hasty_server(called: Called) -> Iterator[ApiServer]:
    with serving(called, limits=HASTY) as listening:
        yield listening


@pytest.fixture
def raw(server: ApiServer) -> Iterator[RawConnection]:
    with RawConnection(server.url) as connection:
        yield connection


SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["Content-Length: 4", "Content-Length: 50"], 400),
        (["Content-Length: 4", "content-length: 4"], 400),
        (["Content-Length: 4, 4"], 400),
        (["Content-Length: +4"], 400),
        (["Content-Length: 0x4"], 400),
        (["Content-Length: 4 4"], 400),
        (["Content-Length: "], 400),
        (["Content-Length : 4"], 400),
        (["Content-Length: 4", "Transfer-Encoding: chunked"], 400),
        (["Transfer-Encoding: chunked"], 411),
        (["Transfer-Encoding: gzip, chunked"], 400),
        (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], 400),
        (["Transfer-Encoding:\x0bchunked"], 400),
        (["X: a", " Content-Length: 4"], 400),
        (["X: a\nContent-Length: 4"], 400),
        (["X: a\rContent-Length: 4"], 400),
        (["X: a\x00b"], 400),
        (["X\x00: a"], 400),
        (["X"], 400),
        ([": a"], 400),
        ([f"X: {'a' * 20_000}"], 431),
        ([f"X-{n}: a" for n in range(101)], 431),
        (["Host: other"], 400),
        (["Content-Length: 99999999"], 413),
        (["Content-Length: " + "9" * 30], 400),
    ],
)
def test_a_request_that_can_be_read_in_two_ways_is_refused_and_the_connection_closed(
    raw: RawConnection, called: Called, lines: list[str], status: int
) -> None:
    raw.request("POST", "/explorations", BEARER, *lines, body="0\r\n\r\n" + SMUGGLED)

    answer = raw.answer()
    assert answer.status == status, answer
    assert answer.error["message"]
    assert "nosniff" in answer.head
    assert "connection: close" in answer.head.lower()
    assert raw.is_closed()
    assert called.events == []


@pytest.mark.parametrize(
    "text",
    [
        "GET /health HTTP/1.1\nHost: 127.0.0.1\n\n",
        "GET /health\r\n\r\n",
        "GET /health HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n",
        "GET  /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET /he\x00alth HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET /h\xe9 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET /health HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "A" * 70_000,
    ],
)
def test_what_is_not_http_is_refused(raw: RawConnection, called: Called, text: str) -> None:
    raw.send(text)

    assert raw.answer().status in {400, 431}
    assert raw.is_closed()
    assert called.events == []


@pytest.mark.parametrize("size", ["zz", "-1", "0x4", "4;" + "a" * 99, "ffffffffffffffffff", ""])
def test_a_bad_chunk_reaches_nothing(
    raw: RawConnection, called: Called, size: str, capfd: pytest.CaptureFixture[str]
) -> None:
    body = f"{size}\r\nabcd\r\n0\r\n\r\n{SMUGGLED}"
    raw.request("POST", "/explorations", BEARER, "Transfer-Encoding: chunked", body=body)

    assert raw.answer().status in {400, 411}
    assert raw.is_closed()
    assert called.events == []
    assert capfd.readouterr().err == ""


@pytest.mark.long
def test_heads_and_bodies_that_drip_are_ended_in_total_time(
    hasty_server: ApiServer, called: Called
) -> None:
    url = hasty_server.url

    def drip(connection: RawConnection) -> float:
        """How long the server lets a peer send a byte every 50 ms."""
        began = time.monotonic()
        try:
            while time.monotonic() - began < 5:
                connection.send("a")
                time.sleep(0.05)
        except ConnectionError:
            pass
        return time.monotonic() - began

    with RawConnection(url) as slow:
        slow.send("GET /health HTTP/1.1\r\nX: ")
        assert drip(slow) < 2
    with RawConnection(url) as slow:  # also the second request of a connection
        slow.request("GET", "/health")
        slow.answer()
        slow.send("GET /health HTTP/1.1\r\nX: ")
        assert drip(slow) < 2
    calls = len(called.events)
    with RawConnection(url) as slow:
        slow.request("POST", "/explorations", BEARER, "Content-Length: 1000", body="{")
        time.sleep(0.2)
        slow.send("a")
        assert slow.answer().status == 408
    assert len(called.events) == calls


def test_a_large_upload_has_the_time_that_a_slow_link_needs(called: Called) -> None:
    patient = replace(LIMITS, body_seconds=0.2, body_bytes_per_second=300)
    with serving(called, limits=patient) as server, RawConnection(server.url) as slow:
        slow.request("POST", "/explorations", BEARER, "Content-Length: 600", body="a" * 300)
        time.sleep(0.4)
        slow.send("a" * 300)
        assert slow.answer().status == 200


def test_a_connection_that_says_nothing_is_closed(hasty_server: ApiServer) -> None:
    with RawConnection(hasty_server.url) as silent:
        assert silent.seconds_to_close() < 2


@pytest.mark.long
def test_an_idle_connection_is_kept_longer_than_a_head_may_take(hasty_server: ApiServer) -> None:
    with RawConnection(hasty_server.url) as idle:
        idle.request("GET", "/health")
        idle.answer()
        time.sleep(HASTY.head_seconds + 0.1)
        idle.request("GET", "/health")
        assert idle.answer().status == 200
        assert idle.seconds_to_close() < 3


def test_nobody_without_a_token_uploads_anything(raw: RawConnection, called: Called) -> None:
    """The response comes before the body, so it cost the server nothing."""
    raw.request("PUT", "/files/a", f"Content-Length: {limits.MAX_UPLOAD_BYTES}")
    answer = raw.answer()
    assert (answer.status, answer.error["type"]) == (401, "unauthorized")
    assert called.events == []


def test_a_route_says_401_before_the_body_and_closes(raw: RawConnection, called: Called) -> None:
    raw.request("POST", "/explorations", "Content-Length: 4000000")
    answer = raw.answer()
    assert "connection: close" in answer.head.lower()
    assert called.events[0]["body"] is None
    raw.send(b"a" * 4_000_000)  # read and discarded, so that the peer sees the response
    assert raw.is_closed()


def test_a_body_is_asked_for_only_if_it_is_wanted(server: ApiServer) -> None:
    expected = ("Expect: 100-continue", f"Content-Length: {len(JSON_BODY)}")
    with RawConnection(server.url) as known:
        known.request("POST", "/explorations", BEARER, *expected)
        assert known.answer().status == 100
        known.send(JSON_BODY)
        assert known.answer().status == 200
    with RawConnection(server.url) as unknown:
        unknown.request("PUT", "/files/a", *expected)
        assert unknown.answer().status == 401


def test_a_new_connection_takes_the_place_of_one_that_never_sent_a_request(
    server: ApiServer,
) -> None:
    with ExitStack() as stack:
        served = stack.enter_context(RawConnection(server.url))
        served.request("GET", "/health")
        assert served.answer().status == 200  # idle for longer than the others
        idle = [stack.enter_context(RawConnection(server.url)) for _ in range(7)]
        late = stack.enter_context(RawConnection(server.url))
        late.request("GET", "/health")
        assert late.answer().status == 200
        dropped = idle[0].answer()
        assert (dropped.status, dropped.error["type"]) == (503, "unavailable")
        assert "Too many connections" in dropped.error["message"]
        served.request("GET", "/health")
        assert served.answer().status == 200
        assert len(server.connections) == 8


def test_the_limits_follow_from_the_files_that_may_be_open() -> None:
    assert ConnectionLimits.for_open_files(256).connections == 128
    assert ConnectionLimits.for_open_files(256).connections_per_peer == 96
    assert ConnectionLimits.for_open_files(1_000_000).connections == 4_000


def busy(stack: ExitStack, server: ApiServer, source: str) -> RawConnection:
    connection = stack.enter_context(RawConnection(server.url, source=source))
    connection.request("GET", "/wait", BEARER)
    return connection


def wait_until(called: Called, calls: int) -> None:
    deadline = time.monotonic() + 60
    while len(called.events) < calls:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_peer_has_its_share_of_the_connections_and_all_have_a_limit(
    server: ApiServer, called: Called
) -> None:
    with ExitStack() as stack:
        first = [busy(stack, server, "127.0.0.1") for _ in range(8)]
        wait_until(called, 8)
        ninth = stack.enter_context(RawConnection(server.url, source="127.0.0.1"))
        assert ninth.answer().status == 503

        second = [busy(stack, server, "127.0.0.2") for _ in range(4)]
        wait_until(called, 12)
        thirteenth = stack.enter_context(RawConnection(server.url, source="127.0.0.3"))
        assert thirteenth.answer().status == 503

        called.released.set()
        assert [c.answer().status for c in first + second] == [200] * 12
        again = stack.enter_context(RawConnection(server.url, source="127.0.0.3"))
        again.request("GET", "/health")
        assert again.answer().status == 200


def test_a_trusted_proxy_has_only_the_common_limit(called: Called) -> None:
    with serving(called, proxies=["127.0.0.1"]) as server, ExitStack() as stack:
        for _ in range(12):
            busy(stack, server, "127.0.0.1")
        wait_until(called, 12)
        assert len(server.connections) == 12
        called.released.set()


def test_a_peer_that_does_not_read_is_dropped(called: Called) -> None:
    called.body = "a" * 20_000_000
    with serving(called, limits=HASTY) as server, RawConnection(server.url) as deaf:
        deaf.request("GET", "/health", "Connection: close")
        wait_until(called, 1)
        deadline = time.monotonic() + 60
        while len(server.connections):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_response_in_parts_is_sent_as_they_come(server: ApiServer, called: Called) -> None:
    more = threading.Event()

    def parts() -> Iterator[str]:
        yield "id: 1\n\n"
        more.wait(10)
        yield "id: 2\n\n"

    called.body = parts()
    with RawConnection(server.url) as connection:
        connection.request("GET", "/events", BEARER)
        first = received_until(connection, "id: 1\n\n")
        more.set()
        rest = received_until(connection, "0\r\n\r\n")
        called.body = ""
        connection.request("GET", "/health")  # the connection goes on
        assert connection.answer().status == 200

    assert "transfer-encoding: chunked" in first.lower()
    assert "id: 2" not in first
    assert "id: 2\n\n" in rest


def test_nobody_works_on_the_parts_of_a_response_whose_peer_has_gone(
    server: ApiServer, called: Called
) -> None:
    asked: list[int] = []

    def parts() -> Iterator[str]:
        while True:
            asked.append(len(asked))
            time.sleep(0.05)
            yield ": still here\n\n"

    called.body = parts()
    with RawConnection(server.url) as connection:
        connection.request("GET", "/events", BEARER)
        received_until(connection, "still here")
    time.sleep(0.3)
    before = len(asked)
    time.sleep(0.3)

    assert len(asked) == before


def test_a_peer_that_does_not_read_the_parts_of_a_response_is_dropped(called: Called) -> None:
    with serving(called, limits=HASTY) as server:
        called.body = iter(["x" * 1_000_000] * 1_000)
        with RawConnection(server.url) as connection:
            connection.request("GET", "/events", BEARER)
            wait_until(called, 1)
            deadline = time.monotonic() + 60
            while len(server.connections):
                assert time.monotonic() < deadline, "it is kept"
                time.sleep(0.05)


def received_until(connection: RawConnection, end: str) -> str:
    text = ""
    while end not in text:
        received = connection.socket.recv(65_536).decode()
        assert received, text
        text += received
    return text


def test_responses_on_one_connection_come_without_delay(raw: RawConnection) -> None:
    """Nagle's algorithm and delayed acknowledgements together would add 40 ms to each."""
    taken = []
    for _ in range(25):
        began = time.monotonic()
        raw.request("POST", "/explorations", BEARER, "Content-Length: 2", body="{}")
        assert raw.answer().status == 200
        taken.append(time.monotonic() - began)
    assert statistics.median(taken) < 0.03


def test_a_response_is_one_write(raw: RawConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = []
    write = _SelectorSocketTransport.write

    def count(transport: _SelectorSocketTransport, data: bytes) -> None:
        writes.append(data)
        write(transport, data)

    monkeypatch.setattr(_SelectorSocketTransport, "write", count)
    raw.request("GET", "/health")

    assert raw.answer().body == b"1"
    assert len(writes) == 1


def test_requests_that_are_sent_ahead_are_answered_in_order(raw: RawConnection) -> None:
    for _ in range(3):
        raw.request("GET", "/health")

    assert [raw.answer().body for _ in range(3)] == [b"1", b"2", b"3"]


def test_a_peer_that_closed_its_side_gets_its_response(raw: RawConnection) -> None:
    raw.request("GET", "/health")
    raw.socket.shutdown(1)

    assert raw.answer().status == 200
    assert raw.is_closed()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1:9", 200),
        ("[::1]:9", 200),
        ("ideas.example.org", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.", 200),
        ("app.localhost:80", 200),
        ("192.168.1.5:8000", 200),
        ("[::ffff:192.168.1.5]", 200),
        ("ideas.example.org.", 200),
        ("127.1", 403),
        ("0x7f000001", 403),
        ("localhost.evil.example", 403),
        ("evillocalhost", 403),
        ("user@localhost", 403),
        ("localhost/evil", 403),
        ("[::1", 403),
        ("", 403),
    ],
)
def test_only_names_of_this_machine_are_answered(called: Called, host: str, status: int) -> None:
    with serving(called, names=["ideas.example.org"]) as server, RawConnection(server.url) as raw:
        raw.send(f"GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n")
        answer = raw.answer()

    assert answer.status == status
    if status == 403:
        assert "IDEA_ALLOWED_HOSTS" in answer.error["message"]
        assert host not in answer.body.decode() or not host


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://{host}", 200),
        ("https://ideas.example.org", 200),
        ("http://localhost:3000", 403),
        ("http://evil.example", 403),
        ("https://{host}.evil.example", 403),
        ("null", 403),
        ("http://[", 403),
        ("", 403),
    ],
)
def test_pages_of_other_sites_change_nothing(called: Called, origin: str, status: int) -> None:
    with serving(called, names=["ideas.example.org"]) as server, RawConnection(server.url) as raw:
        lines = (BEARER, f"Origin: {origin.format(host=raw.host)}")
        raw.request("GET", "/health", *lines)
        assert raw.answer().status == 200
        raw.request("POST", "/explorations", *lines, "Content-Length: 2", body="{}")
        assert raw.answer().status == status

    assert len(called.events) == (2 if status == 200 else 1)


def test_every_address_is_a_host_also_one_that_is_not_of_this_machine(called: Called) -> None:
    server = ApiServer(("0.0.0.0", 0), called, lambda: TOKENS, limits=LIMITS)
    url = server.url.replace("0.0.0.0", "127.0.0.9")
    with Listening(server), RawConnection(url) as raw:
        raw.request("GET", "/health")
        assert raw.answer().status == 200
        raw.request("GET", "/health", host="192.168.1.5:8000")  # as from outside of a container
        assert raw.answer().status == 200
        raw.request("GET", "/health", host="127.0.0.9.evil.example")
        assert raw.answer().status == 403


def test_forwarded_headers_change_nothing(raw: RawConnection, called: Called) -> None:
    raw.request("GET", "/health", "X-Forwarded-Host: evil.example", "X-Forwarded-For: 1.2.3.4")

    assert raw.answer().status == 200
    raw.request("GET", "/health", "X-Forwarded-Host: localhost", host="evil.example")
    assert raw.answer().status == 403


def test_a_response_has_a_date_and_our_name(raw: RawConnection) -> None:
    raw.request("GET", "/health")
    head = raw.answer().head.lower()

    assert head.count("server: idea-explorer") == 1
    assert head.count("date: ") == 1
    assert "uvicorn" not in head


def test_it_ends_at_once_while_calls_wait(
    called: Called, capfd: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        with serving(called) as server:
            waiting = busy(stack, server, "127.0.0.1")
            wait_until(called, 1)
            began = time.monotonic()
        assert time.monotonic() - began < 1
        assert waiting.is_closed()
        called.released.set()
    assert capfd.readouterr().err == ""


def test_idle_and_slow_peers_do_not_delay_others(called: Called) -> None:
    with serving(called, limits=ConnectionLimits()) as server, ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(RawConnection(server.url))
        for _ in range(5):
            slow = stack.enter_context(RawConnection(server.url))
            slow.request("POST", "/explorations", BEARER, "Content-Length: 1000", body="{")
        began = time.monotonic()
        for _ in range(20):
            with RawConnection(server.url) as other:
                other.request("GET", "/health")
                assert other.answer().status == 200
        assert time.monotonic() - began < 5
        assert len(server.connections) >= 55
