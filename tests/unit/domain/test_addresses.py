from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.adapters.http.connections import (
    FETCH_RULES,
    WEBHOOK_RULES,
    AddressRules,
    is_public_or_loopback,
)
from idea_explorer.domain.addresses import Address, is_public
from idea_explorer.domain.errors import BlockedAddressError, NetworkError


def answering(*addresses: str) -> Callable[[str, int], Sequence[str]]:
    return lambda host, port: addresses


def check(rules: AddressRules, url_parts: tuple[str, bytes, str, int]) -> None:
    scheme, userinfo, host, port = url_parts
    rules.check_url(scheme=scheme, userinfo=userinfo, host=host, port=port)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.0", "100.63.255.255",
     "100.128.0.0", "169.253.255.255", "192.167.255.255", "198.17.255.255", "198.20.0.0",
     "223.255.255.255", "2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450::1"],
)  # fmt: skip
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
     "127.0.0.0", "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255",
     "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.192", "192.0.2.1", "192.88.99.1",
     "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.7",
     "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255",
     "100.100.100.200", "168.63.129.16", "::", "::1", "::127.0.0.1", "::8.8.8.8",
     "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::10.0.0.1",
     "64:ff9b::808:808", "64:ff9b:1::a00:1", "100::1", "2001::1", "2001:0:53aa:64c::1",
     "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1",
     "3ffe::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1",
     "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1", "2a00:1450::5efe:10.0.0.1",
     "2a00:1450::200:5efe:7f00:1"],
)  # fmt: skip
def test_every_other_range_is_not(address: str) -> None:
    assert not is_public(ip_address(address))


@settings(deadline=None)
@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_private(address: Address) -> None:
    assert address.is_global or not is_public(address)


@settings(deadline=None)
@given(st.ip_addresses(v=4))
def test_no_embedding_of_an_ipv4_address_is_public(address: IPv4Address) -> None:
    number = int(address)
    prefixes = ["::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::", "2001::"]
    spelled = [IPv6Address(int(IPv6Address(prefix)) + number) for prefix in prefixes]
    spelled.append(IPv6Address(int(IPv6Address("2002::")) + (number << 80)))
    assert not any(is_public(embedding) for embedding in spelled)


def test_loopback_is_allowed_only_where_asked_for() -> None:
    assert not is_public(ip_address("127.0.0.1"))
    assert is_public_or_loopback(ip_address("127.0.0.1"))
    assert is_public_or_loopback(ip_address("::1"))
    assert not is_public_or_loopback(ip_address("10.0.0.1"))


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (("ftp", b"", "example.com", 21), "Only http and https"),
        (("file", b"", "", 0), "Only http and https"),
        (("http", b"user", "example.com", 80), "user name"),
        (("http", b":", "example.com", 80), "user name"),
        (("http", b"", "example.com", 8080), "Port 8080"),
        (("https", b"", "example.com", 22), "Port 22"),
        (("http", b"", "", 80), "neither"),
        (("http", b"", ".", 80), "neither"),
        (("http", b"", "a..b", 80), "neither"),
        (("http", b"", "exa mple.com", 80), "neither"),
        (("http", b"", "example.com%2f", 80), "neither"),
        (("http", b"", "a" * 64 + ".com", 80), "neither"),
        (("http", b"", "a." * 130 + "com", 80), "neither"),
        (("http", b"", "127.1", 80), "neither"),
        (("http", b"", "8.8.2056", 80), "neither"),
        (("http", b"", "0x8.8.8.8", 80), "neither"),
        (("http", b"", "010.8.8.8", 80), "neither"),
        (("http", b"", "fe80::1%eth0", 80), "neither"),
        (("http", b"", "127.0.0.1", 80), "not a public address"),
        (("http", b"", "::1", 80), "not a public address"),
    ],
)
def test_a_url_is_refused_before_its_name_is_looked_up(
    parts: tuple[str, bytes, str, int], reason: str
) -> None:
    with pytest.raises(BlockedAddressError, match=reason):
        check(FETCH_RULES, parts)


def test_a_plain_url_passes() -> None:
    check(FETCH_RULES, ("http", b"", "example.com", 80))
    check(FETCH_RULES, ("https", b"", "xn--bcher-kva.example.", 443))
    check(FETCH_RULES, ("https", b"", "8.8.8.8", 443))
    check(WEBHOOK_RULES, ("https", b"", "hooks.example.com", 8443))


def test_webhooks_take_https_only() -> None:
    with pytest.raises(BlockedAddressError, match="Only https"):
        check(WEBHOOK_RULES, ("http", b"", "hooks.example.com", 80))


def test_a_literal_address_is_not_looked_up() -> None:
    def no_resolver(host: str, port: int) -> Sequence[str]:
        raise AssertionError(host)

    assert FETCH_RULES.addresses("8.8.8.8.", 80, no_resolver) == [IPv4Address("8.8.8.8")]


def test_one_non_public_address_among_many_blocks_the_name() -> None:
    with pytest.raises(BlockedAddressError) as caught:
        FETCH_RULES.addresses("mixed.example", 80, answering("8.8.8.8", "1.1.1.1", "10.0.0.7"))
    assert "10.0.0.7" not in caught.value.sentence


def test_all_addresses_of_a_public_name_may_be_dialled() -> None:
    found = FETCH_RULES.addresses(
        "two.example", 80, answering("8.8.8.8", "2a00:1450::1", "8.8.8.8")
    )
    assert [str(address) for address in found] == ["8.8.8.8", "2a00:1450::1"]


@pytest.mark.parametrize("answer", [(), ("nonsense",), ("0x7f.1",)])
def test_a_name_without_a_proper_address_is_a_network_error(answer: tuple[str, ...]) -> None:
    with pytest.raises(NetworkError):
        FETCH_RULES.addresses("nothing.example", 80, answering(*answer))
