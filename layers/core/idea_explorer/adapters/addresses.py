"""The address rules: which addresses a request may reach whose URL a user or a model chose.

Public ones, and nothing else. Whoever opens a connection asks here with the very addresses that it will
dial: a name is resolved once, every address behind it must pass, and the name is not looked up again.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

from idea_explorer.domain.errors import BlockedAddressError, NetworkError

Address: TypeAlias = IPv4Address | IPv6Address
Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""All addresses of a name, as text. Raises OSError when there are none."""

# IANA's special-purpose registry, and what clouds answer on inside their own networks.
NON_PUBLIC_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host, in public space
        "169.254.0.0/16",  # link-local, and the metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# Everything that embeds an IPv4 address (mapped, compatible, NAT64) lies outside of 2000::/3 or below.
GLOBAL_IPV6 = IPv6Network("2000::/3")
NON_PUBLIC_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocols: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3ffe::/16",  # the former test network
        "3fff::/20",  # documentation
    )
)
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # interface ids that carry an IPv4 address

_HOST_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
MAX_HOST = 253


def is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NON_PUBLIC_IPV4)
    if address not in GLOBAL_IPV6 or (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return False
    return not any(address in network for network in NON_PUBLIC_IPV6)


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
        literal = _literal(host)
        if literal is not None:
            self._check(host, [literal])

    def addresses(self, host: str, port: int, resolver: Resolver) -> list[Address]:
        """Where to connect for this host: all of its addresses, each of them allowed."""
        literal = _literal(host)
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


def _literal(host: str) -> Address | None:
    """The address that the host spells out, or None for a name.

    Spellings that programs read in different ways (octal, hexadecimal, short, one number) are refused,
    and so are zone ids: they only make sense for addresses that are not public.
    """
    bare = host.removesuffix(".")
    try:
        return IPv6Address(bare) if ":" in bare and "%" not in bare else IPv4Address(bare)
    except ValueError:
        pass
    is_name = len(bare) <= MAX_HOST and _HOST_NAME.fullmatch(bare)
    if not is_name or _NUMBER.fullmatch(bare.rpartition(".")[2]):
        raise BlockedAddressError("The host is neither a plain name nor a plain address.")
    return None


def _resolved(host: str, port: int, resolver: Resolver) -> list[Address]:
    try:
        found = [ipaddress.ip_address(address) for address in resolver(host, port)]
    except (OSError, ValueError) as error:
        raise NetworkError(f"The name {host} could not be resolved.") from error
    if not found:
        raise NetworkError(f"The name {host} has no address.")
    return list(dict.fromkeys(found))
