"""HTTP/1.1 for httpx2, in half of the time of httpx2's own transport."""

import select
import socket
import ssl
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from http import client
from types import SimpleNamespace
from typing import TypeAlias
from urllib.request import getproxies

import httpx2

from idea_explorer.adapters.http.response import HEADER_VALUE, TOKEN, Response

WRITE_BYTES = 65_536  # that the server has to take before the timeout; a large body may take longer
IDLE_SECONDS = 5.0  # after which a connection is not used again; as httpx2 has it
# the anthropic SDK's: a connection that is silent for a minute is probed, and is dead after five more
KEEP_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 60, "TCP_KEEPCNT": 5}

Origin: TypeAlias = tuple[str, str, int | None]


def make_transport(certificates: ssl.SSLContext) -> httpx2.BaseTransport | None:
    """None where the environment names a proxy: httpx2's own transport knows how to use one."""
    return None if getproxies() else Http11Transport(certificates)


class Http11Transport(httpx2.BaseTransport):
    """Raises the same errors as httpx2's own transport. Threads can share it."""

    def __init__(self, certificates: ssl.SSLContext) -> None:
        self._certificates = certificates
        self._idle: dict[Origin, deque[tuple[float, client.HTTPConnection]]] = defaultdict(deque)
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        seconds = request.extensions.get("timeout", {})
        origin = (request.url.scheme, request.url.raw_host.decode("ascii"), request.url.port)
        connection = self._take_idle(origin) or self._connect(origin, seconds.get("connect"))
        connected = connection.sock
        try:
            connected.settimeout(seconds.get("write"))
            _send(connected, request)
            connected.settimeout(seconds.get("read"))
            response = _receive(connected, request.method)
        except BaseException:
            connection.close()
            raise
        known: dict[str, socket.socket] = {"socket": connected}

        def put_back() -> None:
            known.clear()  # who ends this response must not end the next one
            self._put_back(origin, connection)

        return httpx2.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response, connection, put_back),
            extensions={
                "http_version": response.version,
                "reason_phrase": response.reason,
                "network_stream": SimpleNamespace(get_extra_info=known.get),
            },
        )

    def _put_back(self, origin: Origin, connection: client.HTTPConnection) -> None:
        """For the next request to the same server."""
        now = time.monotonic()
        with self._lock:
            idle = self._idle[origin]
            idle.append((now, connection))
            while now - idle[0][0] > IDLE_SECONDS:
                idle.popleft()[1].close()

    def close(self) -> None:
        with self._lock:
            for idle in self._idle.values():
                while idle:
                    idle.pop()[1].close()

    def _take_idle(self, origin: Origin) -> client.HTTPConnection | None:
        with self._lock:
            idle = self._idle[origin]
            while idle:
                since, connection = idle.pop()
                if time.monotonic() - since < IDLE_SECONDS and not _is_readable(connection.sock):
                    return connection
                connection.close()
        return None

    def _connect(self, origin: Origin, seconds: float | None) -> client.HTTPConnection:
        scheme, host, port = origin
        if scheme == "https":
            self._certificates.set_alpn_protocols(["http/1.1"])
            connection: client.HTTPConnection = client.HTTPSConnection(
                host, port or client.HTTPS_PORT, timeout=seconds, context=self._certificates
            )
        elif scheme == "http":
            connection = client.HTTPConnection(host, port or client.HTTP_PORT, timeout=seconds)
        else:
            raise httpx2.UnsupportedProtocol(f"{scheme}:// is not HTTP.")
        try:
            connection.connect()
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in KEEP_ALIVE.items():
                if option := getattr(socket, name, None):  # not every system has them
                    connection.sock.setsockopt(socket.IPPROTO_TCP, option, value)
        except (OSError, UnicodeError) as error:  # the latter for what cannot be the name of a host
            connection.close()
            kind = httpx2.ConnectTimeout if isinstance(error, TimeoutError) else httpx2.ConnectError
            raise kind(str(error)) from error
        return connection


class _Body(httpx2.SyncByteStream):
    """Calls `put_back` where all of it was read, so that the connection can be used again."""

    def __init__(
        self,
        response: Response,
        connection: client.HTTPConnection,
        put_back: Callable[[], None],
    ) -> None:
        self._response = response
        self._connection = connection
        self._put_back = put_back

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._response.read_body()
        except OSError as error:
            raise _map_error(error) from error

    def close(self) -> None:
        if self._response.is_reusable:
            self._put_back()
        else:
            self._connection.close()


def _send(connected: socket.socket, request: httpx2.Request) -> None:
    body = memoryview(request.read())
    if "transfer-encoding" in request.headers:
        body = memoryview((_make_chunk(body) if body else b"") + _make_chunk(b""))
    first = _make_head(request) + bytes(body[:WRITE_BYTES])  # mostly all of it, in one packet
    try:
        connected.sendall(first)
        for start in range(WRITE_BYTES, len(body), WRITE_BYTES):
            connected.sendall(body[start : start + WRITE_BYTES])
    except TimeoutError as error:
        raise httpx2.WriteTimeout(str(error)) from error
    except OSError:
        pass  # a server may refuse a request before it has read all of it, and its response says why


def _make_head(request: httpx2.Request) -> bytes:
    """What would not be read as it is meant is refused; a value may be a secret, so it is not quoted."""
    method, target = request.method.encode("latin-1"), request.url.raw_path
    if not TOKEN.fullmatch(method):  # a URL of httpx2's has no characters that could end the line
        raise httpx2.LocalProtocolError("The method cannot be sent.")
    lines = [b"%b %b HTTP/1.1" % (method, target)]
    for name, value in request.headers.raw:
        if not (TOKEN.fullmatch(name) and HEADER_VALUE.fullmatch(value)):
            shown = name.decode("latin-1")
            raise httpx2.LocalProtocolError(f"The header {shown!r} cannot be sent.")
        lines.append(b"%b: %b" % (name, value))
    return b"\r\n".join([*lines, b"", b""])


def _make_chunk(data: bytes | memoryview) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), bytes(data))


def _receive(connected: socket.socket, method: str) -> Response:
    try:
        return Response(connected, method)
    except OSError as error:
        raise _map_error(error) from error


def _map_error(error: OSError) -> httpx2.TransportError:
    kind = httpx2.ReadTimeout if isinstance(error, TimeoutError) else httpx2.ReadError
    return kind(str(error))


def _is_readable(connected: socket.socket) -> bool:
    """Of an idle connection: whether the server has closed it, or sent what nobody asked for. TLS holds
    none of that back: a record has at most 16 KB, and each read takes more."""
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))
