"""Connections that go to checked addresses only and that nothing keeps open beyond their deadline."""

import os
import ssl
from collections.abc import Iterable
from functools import cache
from typing import Any

import httpcore
import httpx

from idea_explorer.adapters.http.addresses import AddressRules, Resolver
from idea_explorer.domain.addresses import Address
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import HttpError, NetworkError, TimeSpentError
from idea_explorer.domain.time_limit import TimeLimitExceededError, run_with_time_limit

WRITE_BYTES = 16_384  # small pieces: the deadline is looked at between them


class CheckedBackend(httpcore.NetworkBackend):
    """Dials for httpcore. Every connection, also of a redirect, passes the address rules here.

    The host name stays with httpcore, for the Host header and for TLS; only the checked address is
    dialled, so a resolver that answers otherwise a moment later changes nothing.
    """

    def __init__(self, rules: AddressRules, resolver: Resolver, deadline: Deadline) -> None:
        self._rules = rules
        self._resolver = resolver
        self._deadline = deadline
        self._plain = httpcore.SyncBackend()
        self.peer_closed = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = run_with_time_limit(  # looking a name up takes no timeout
                lambda: self._rules.addresses(host, port, self._resolver),
                self.time(timeout),
                name="resolve",
            )
        except TimeLimitExceededError:
            raise NetworkError("The name was not resolved in time.") from None

        def dial(address: Address) -> httpcore.NetworkStream:
            stream = self._plain.connect_tcp(
                str(address), port, self.time(timeout), local_address, socket_options
            )
            return _TimedStream(stream, self)

        for address in addresses[:-1]:
            try:
                return dial(address)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return dial(addresses[-1])

    def time(self, timeout: float | None) -> float:
        """The seconds that one operation may take: its own timeout, or what is left of the whole."""
        left = self._deadline.left
        if left <= 0:
            raise TimeSpentError("The answer took too long.")
        return left if timeout is None else min(timeout, left)


class _TimedStream(httpcore.NetworkStream):
    """A connection whose every read and write ends with the deadline, however slowly bytes arrive."""

    def __init__(self, inner: httpcore.NetworkStream, backend: CheckedBackend) -> None:
        self._inner = inner
        self._backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._backend.time(timeout))
        self._backend.peer_closed = not data
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), WRITE_BYTES):
            self._inner.write(buffer[start : start + WRITE_BYTES], self._backend.time(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        try:
            secured = self._inner.start_tls(
                ssl_context, server_hostname, self._backend.time(timeout)
            )
        except httpcore.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLError):
                raise HttpError("The server's TLS certificate or protocol is not valid.") from error
            raise
        return _TimedStream(secured, self._backend)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def certificates(*, of_environment: bool = False) -> ssl.SSLContext:
    """Those that come with httpx; `of_environment`, those that a variable names, where one is set: a
    proxy that looks into what passes shows a certificate of its own."""
    return _load(of_environment and any(os.environ.get(name) for name in VARIABLES))


@cache  # loading them takes as long as a call, so once for all clients
def _load(of_environment: bool) -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=of_environment)
