"""Public addresses, the only ones that a URL from a user or a model may lead to.

These rules need no DNS look-up. Whoever connects also checks the addresses that a name resolves to.
"""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias
from urllib.parse import urlsplit

from idea_explorer.domain.errors import BlockedAddressError
from idea_explorer.domain.patterns import lazy_pattern

Address: TypeAlias = IPv4Address | IPv6Address

# IANA's special-purpose registry, and addresses of cloud services inside their networks.
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

_HOST_NAME = lazy_pattern(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*", re.IGNORECASE)
_NUMBER = lazy_pattern(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
MAX_HOST = 253
NOT_PUBLIC = "must be a public address"
NO_CREDENTIALS = "must not contain a user name or a password: they would not be sent"


def is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NON_PUBLIC_IPV4)
    if address not in GLOBAL_IPV6 or (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return False
    return not any(address in network for network in NON_PUBLIC_IPV6)


def is_this_machine(host: str) -> bool:
    name = host.removesuffix(".").lower()
    return name == "localhost" or name.endswith(".localhost")


def parse_ip(host: str) -> Address | None:
    """The IP address in a host, or None for a name. Raises BlockedAddressError for forms that programs
    read in different ways (octal, hexadecimal, short, one number), and for zone ids, which only non-public
    addresses have."""
    bare = host.removesuffix(".")
    try:
        return IPv6Address(bare) if ":" in bare and "%" not in bare else IPv4Address(bare)
    except ValueError:
        pass
    is_name = len(bare) <= MAX_HOST and _HOST_NAME.fullmatch(bare)
    if not is_name or _NUMBER.fullmatch(bare.rpartition(".")[2]):
        raise BlockedAddressError("The host is neither a plain name nor a plain address.")
    return None


def check_webhook_address(url: str) -> str | None:
    """The reason to reject a webhook's address, if one shows without a DNS look-up."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if "@" in parts.netloc:
        return NO_CREDENTIALS
    try:
        literal = parse_ip(host)
    except BlockedAddressError:
        return NOT_PUBLIC
    hidden = is_this_machine(host) or (literal is not None and not is_public(literal))
    return NOT_PUBLIC if hidden else None
