"""The address rules: which addresses a request may reach whose URL a user or a model chose.

Public ones, and nothing else. Whoever opens a connection asks here with the very addresses that it will
dial: a name is resolved once, every address behind it must pass, and the name is not looked up again.
"""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from idea_explorer.domain.addresses import Address, is_public, parse_ip
from idea_explorer.domain.errors import BlockedAddressError, NetworkError

Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""All addresses of a name, as text. Raises OSError when there are none."""


def is_public_or_loopback(address: Address) -> bool:
    """For tests and for work on one machine. Never chosen by what a model or a caller sends."""
    return address.is_loopback or is_public(address)


@dataclass(frozen=True, slots=True)
class AddressRules:
    """Which URLs may be used. `ports` is None where any will do."""

    schemes: frozenset[str]
    ports: frozenset[int] | None
    allow: Callable[[Address], bool] = is_public

    def check_url(self, *, scheme: str, userinfo: bytes, host: str, port: int) -> None:
        """Refuse what can be refused without looking the name up; raises BlockedAddressError."""
        if scheme not in self.schemes:
            wanted = " and ".join(sorted(self.schemes))
            raise BlockedAddressError(f"Only {wanted} addresses are allowed.")
        if userinfo:
            raise BlockedAddressError("The address must not carry a user name or password.")
        if self.ports is not None and port not in self.ports:
            wanted = " and ".join(str(port) for port in sorted(self.ports))
            raise BlockedAddressError(f"Port {port} is not allowed, only {wanted}.")
        literal = parse_ip(host)
        if literal is not None:
            self._check(host, [literal])

    def addresses(self, host: str, port: int, resolver: Resolver) -> list[Address]:
        """Where to connect for this host: all of its addresses, each of them allowed."""
        literal = parse_ip(host)
        found = [literal] if literal is not None else _resolved(host, port, resolver)
        self._check(host, found)
        return found

    def _check(self, host: str, addresses: Sequence[Address]) -> None:
        # the address itself is not told: it would show the network from inside
        if not all(self.allow(address) for address in addresses):
            raise BlockedAddressError(
                f"{host} is not a public address.", hint="Only public addresses can be reached."
            )


FETCH_RULES = AddressRules(schemes=frozenset({"http", "https"}), ports=frozenset({80, 443}))
WEBHOOK_RULES = AddressRules(schemes=frozenset({"https"}), ports=None)


def system_resolver(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def _resolved(host: str, port: int, resolver: Resolver) -> list[Address]:
    try:
        found = [ipaddress.ip_address(address) for address in resolver(host, port)]
    except (OSError, ValueError) as error:
        raise NetworkError(f"The name {host} could not be resolved.") from error
    if not found:
        raise NetworkError(f"The name {host} has no address.")
    return list(dict.fromkeys(found))
