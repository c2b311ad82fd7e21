"""Connections to checked addresses only, which never outlive their deadline.

The check covers exactly the addresses that are then connected to: a name is resolved once, each of its
addresses must pass, and it is not looked up again.
"""

import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpcore2

from idea_explorer.domain.addresses import Address, is_public, parse_ip
from idea_explorer.domain.deadline import Deadline, TimeLimitExceededError, run_with_time_limit
from idea_explorer.domain.errors import (
    BlockedAddressError,
    HttpError,
    NetworkError,
    TimeSpentError,
)

Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""All addresses of a name, as text. Raises OSError if there are none."""


def is_public_or_loopback(address: Address) -> bool:
    """For tests and for development on one machine. No request can choose it."""
    return address.is_loopback or is_public(address)


@dataclass(frozen=True, slots=True)
class AddressRules:
    """Which URLs may be used. With `ports` None, any port may be."""

    schemes: frozenset[str]
    ports: frozenset[int] | None
    allow: Callable[[Address], bool] = is_public

    def check_url(self, *, scheme: str, userinfo: bytes, host: str, port: int) -> None:
        """Raises BlockedAddressError for what can be refused without a DNS lookup."""
        if scheme not in self.schemes:
            wanted = " and ".join(sorted(self.schemes))
            raise BlockedAddressError(f"Only {wanted} addresses are allowed.")
        if userinfo:
            raise BlockedAddressError("The address must not contain a user name or password.")
        if self.ports is not None and port not in self.ports:
            wanted = " and ".join(str(port) for port in sorted(self.ports))
            raise BlockedAddressError(f"Port {port} is not allowed, only {wanted}.")
        literal = parse_ip(host)
        if literal is not None:
            self._check(host, [literal])

    def addresses(self, host: str, port: int, resolver: Resolver) -> list[Address]:
        """All addresses of the host; raises BlockedAddressError unless all of them are allowed."""
        literal = parse_ip(host)
        found = [literal] if literal is not None else _resolve(host, port, resolver)
        self._check(host, found)
        return found

    def _check(self, host: str, addresses: Sequence[Address]) -> None:
        # the message leaves out the address itself, which would reveal the internal network
        if not all(self.allow(address) for address in addresses):
            raise BlockedAddressError(
                f"{host} is not a public address.", hint="Only public addresses can be reached."
            )


FETCH_RULES = AddressRules(schemes=frozenset({"http", "https"}), ports=frozenset({80, 443}))
WEBHOOK_RULES = AddressRules(schemes=frozenset({"https"}), ports=None)


def system_resolver(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def _resolve(host: str, port: int, resolver: Resolver) -> list[Address]:
    try:
        found = [ipaddress.ip_address(address) for address in resolver(host, port)]
    except (OSError, ValueError) as error:
        raise NetworkError(f"The name {host} could not be resolved.") from error
    if not found:
        raise NetworkError(f"The name {host} has no address.")
    return list(dict.fromkeys(found))


WRITE_BYTES = 16_384  # in small pieces, because the deadline is checked between them


class CheckedBackend(httpcore2.NetworkBackend):
    """Opens httpcore2's connections. Every one of them, redirects included, passes the address rules.

    httpcore2 keeps the host name for the Host header and for TLS, but the connection goes to the checked
    address: a resolver that answers differently a moment later changes nothing.
    """

    def __init__(self, rules: AddressRules, resolver: Resolver, deadline: Deadline) -> None:
        self._rules = rules
        self._resolver = resolver
        self._deadline = deadline
        self._plain = httpcore2.SyncBackend()
        self.peer_closed = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        try:
            addresses = run_with_time_limit(  # a DNS lookup takes no timeout of its own
                lambda: self._rules.addresses(host, port, self._resolver),
                self.time(timeout),
                name="resolve",
            )
        except TimeLimitExceededError:
            raise NetworkError("The name was not resolved in time.") from None

        def connect(address: Address) -> httpcore2.NetworkStream:
            stream = self._plain.connect_tcp(
                str(address), port, self.time(timeout), local_address, socket_options
            )
            return _TimedStream(stream, self)

        for address in addresses[:-1]:
            try:
                return connect(address)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return connect(addresses[-1])

    def time(self, timeout: float | None) -> float:
        """The seconds that one operation may take: its own timeout or the time left, whichever is less."""
        left = self._deadline.left
        if left <= 0:
            raise TimeSpentError("The response took too long.")
        return left if timeout is None else min(timeout, left)


class _TimedStream(httpcore2.NetworkStream):
    """A connection whose reads and writes end with the deadline, however slowly bytes arrive."""

    def __init__(self, inner: httpcore2.NetworkStream, backend: CheckedBackend) -> None:
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
    ) -> httpcore2.NetworkStream:
        try:
            secured = self._inner.start_tls(
                ssl_context, server_hostname, self._backend.time(timeout)
            )
        except httpcore2.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLError):
                raise HttpError("The server's TLS certificate or protocol is not valid.") from error
            raise
        return _TimedStream(secured, self._backend)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
