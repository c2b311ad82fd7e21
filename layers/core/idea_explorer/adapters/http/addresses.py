"""Which addresses a request may reach whose URL was chosen by a user or a model: public ones only.

The check covers exactly the addresses that are then connected to: a name is resolved once, each of its
addresses must pass, and it is not looked up again.
"""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from idea_explorer.domain.addresses import Address, is_public, parse_ip
from idea_explorer.domain.errors import BlockedAddressError, NetworkError

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
