"""HTTP/1.1 for httpx2 by the standard library, in two thirds of the time of httpx2's own transport."""

import select
import socket
import ssl
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from functools import partial
from http import client
from types import SimpleNamespace
from typing import TypeAlias
from urllib.request import getproxies

import httpx2

from idea_explorer.adapters.http.response import HEADER_VALUE, StrictResponse

READ_BYTES = 65_536
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
        connected = connection.sock  # the connection lets go of it if the server will close it
        try:
            connected.settimeout(seconds.get("write"))
            _send(connection, request)
            connected.settimeout(seconds.get("read"))
            response = _receive(connection)
        except BaseException:
            connection.close()
            raise
        return httpx2.Response(
            response.status,
            headers=_list_headers(response),
            stream=_Body(response, connection, partial(self._put_back, origin, connection)),
            extensions={
                "http_version": b"HTTP/1.0" if response.version == 10 else b"HTTP/1.1",
                "reason_phrase": response.reason.encode("latin-1"),
                "network_stream": SimpleNamespace(get_extra_info={"socket": connected}.get),
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
        connection.response_class = StrictResponse
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
        response: client.HTTPResponse,
        connection: client.HTTPConnection,
        put_back: Callable[[], None],
    ) -> None:
        self._response = response
        self._connection = connection
        self._put_back = put_back
        self._is_complete = False

    def __iter__(self) -> Iterator[bytes]:
        response = self._response
        # `read1` returns what has arrived, but before Python 3.13 it never ends where the length is known
        read = response.read1 if response.length is None else response.read
        try:
            while data := read(READ_BYTES):
                yield data
        except (OSError, client.HTTPException) as error:
            raise _map_error(error) from error
        if response.length:
            raise httpx2.RemoteProtocolError("The server closed the connection too early.")
        self._is_complete = True

    def close(self) -> None:
        if self._is_complete and not self._response.will_close:
            self._put_back()
        else:
            self._response.close()
            self._connection.close()


def _send(connection: client.HTTPConnection, request: httpx2.Request) -> None:
    target = request.url.raw_path.decode("ascii")
    for name, value in request.headers.raw:
        if not HEADER_VALUE.fullmatch(value):  # which may be a secret
            raise httpx2.LocalProtocolError(
                f"The value of {name.decode('latin-1')} cannot be sent."
            )
    try:
        connection.putrequest(request.method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers.raw:
            connection.putheader(name, value)
        connection.endheaders()
        for piece in _split_body(request):
            connection.send(piece)
    except TimeoutError as error:
        raise httpx2.WriteTimeout(str(error)) from error
    except OSError:
        pass  # a server may refuse a request before it has read all of it, and its response says why
    except ValueError as error:
        raise httpx2.LocalProtocolError(str(error)) from error


def _split_body(request: httpx2.Request) -> Iterator[bytes | memoryview]:
    body = memoryview(request.read())
    is_chunked = "transfer-encoding" in request.headers
    for start in range(0, len(body), WRITE_BYTES):
        piece = body[start : start + WRITE_BYTES]
        yield b"%x\r\n%b\r\n" % (len(piece), bytes(piece)) if is_chunked else piece
    if is_chunked:
        yield b"0\r\n\r\n"


def _receive(connection: client.HTTPConnection) -> client.HTTPResponse:
    try:
        return connection.getresponse()
    except (OSError, client.HTTPException) as error:
        raise _map_error(error) from error


def _list_headers(response: client.HTTPResponse) -> list[tuple[bytes, bytes]]:
    """A value that goes on in the next line is one line here."""
    return [
        (
            name.encode("latin-1"),
            " ".join(line.strip(" \t\r") for line in value.split("\n")).encode("latin-1"),
        )
        for name, value in response.headers.raw_items()
    ]


def _map_error(error: OSError | client.HTTPException) -> httpx2.TransportError:
    if isinstance(error, client.HTTPException):  # first, because one of them is an OSError too
        return httpx2.RemoteProtocolError(str(error))
    kind = httpx2.ReadTimeout if isinstance(error, TimeoutError) else httpx2.ReadError
    return kind(str(error))


def _is_readable(connected: socket.socket) -> bool:
    """Of an idle connection: whether the server has closed it, or sent what nobody asked for."""
    if isinstance(connected, ssl.SSLSocket) and connected.pending():
        return True
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))
