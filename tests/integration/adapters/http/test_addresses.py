"""No request leaves for an address that is not public, however it is spelled: counted at the socket."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.http.connections import FETCH_RULES, WEBHOOK_RULES
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.domain.addresses import Address
from idea_explorer.domain.errors import BlockedAddressError
from tests.fakes.web_server import WebServer, page, redirect

_connections: list[str] = []


def _count(event: str, arguments: tuple[object, ...]) -> None:
    if event not in {"socket.connect", "socket.sendto"}:
        return
    # other tests of this process leave threads that poll servers of theirs
    if threading.current_thread() is threading.main_thread() or _is_resolving():
        _connections.append(f"{event} {arguments[1:]}")


def _is_resolving() -> bool:
    return threading.current_thread().name == "resolve"


@pytest.fixture(scope="module")
def _hook() -> None:
    """It stays for the rest of the process, where it is called thousands of times a second."""
    sys.addaudithook(_count)


@pytest.fixture
def connections(_hook: None) -> Iterator[list[str]]:
    """Every connection that this process opens, as the interpreter itself reports it."""
    _connections.clear()
    yield _connections
    _connections.clear()


class Names:
    """A resolver that gives its answers in turn, the last one for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


IPV4 = ["127.0.0.1", "127.8.9.10", "10.0.0.5", "172.16.4.4", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "100.100.100.200", "0.0.0.0", "192.0.2.8", "198.18.0.1", "198.51.100.1",
        "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1",
        "168.63.129.16"]  # fmt: skip
IPV6 = ["::", "::1", "0:0:0:0:0:0:0:1", "::127.0.0.1", "fe80::1", "fe80::1%25eth0", "fe80::1%eth0",
        "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2001::1", "2001:2::1",
        "2001:10::1", "2002:7f00:1::", "3fff::1", "5f00::1", "64:ff9b:1::7f00:1", "100::1",
        "FE80::1", "::ffff:7f00:1", "0:0:0:0:0:ffff:127.0.0.1"]  # fmt: skip
ODD = [
    "http://127.1/", "http://127.0.1/", "http://0/", "http://0x7f.1/", "http://0177.1/",
    "http://127.0.0.01/", "http://127.0.0.1%00/", "http://127.0.0.1%2f/", "http://%31%32%37.0.0.1/",
    "http://127。0。0。1/", "http://127．0．0．1/", "http://127｡0｡0｡1/", "http://１２７.0.0.1/",
    "http://①②⑦.0.0.1/", "http://²130706433/", "http://٠.٠.٠.٠/", "http://localhost/",
    "http://LOCALHOST./", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://user@127.0.0.1/", "http://example.com@127.0.0.1/",
    "http://example.com:80@127.0.0.1/", "http://127.0.0.1@example.com/", "http://:@example.com/",
    "http://example.com\\@127.0.0.1/", "http://127.0.0.1\\@example.com/", "http://127.0.0.1:80\\.example.com/",
    "http://127.0.0.1#@example.com/", "http://127.0.0.1?@example.com/", "http://127.0.0.1;.example.com/",
    "http://[::]/", "http://[::1]:80/", "http://[::ffff:127.0.0.1]:443/", "http://[::1%25lo]/",
    "http://[v1.fe80]/", "http://[127.0.0.1]/", "http://[::1/", "http://::1/", "http://[]/", "http:///x",
    "http://", "http:127.0.0.1", "//127.0.0.1/", "127.0.0.1", "", " ", "http://example.com:22/",
    "http://example.com:0/", "http://example.com:65536/", "http://example.com:-1/", "http://example.com:٨٠/",
    "file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", "data:text/plain,x", "javascript:1",
    "ws://127.0.0.1/", "unix:/var/run/docker.sock", "http+unix://%2Fvar%2Frun/", "HTTP://127.0.0.1/",
    "http://127.0.0.1\t/", "http://127.0.0.1\n/", "ht\ntp://127.0.0.1/", "http://\x00127.0.0.1/",
    "http://exa mple.com/", "http://-/", "http://a..b/", "http://" + "a" * 70 + ".com/",
    "http://0xffffffffffff7f000001/", "http://4294967296/", "http://1.2.3.4.5/", "http://256.256.256.256/",
    "http://0x/", "http://1e2/", "http://127.0.0.1..", "http://.127.0.0.1/",
    "http://metadata.internal/", "http://127.0.0.1.nip.example/", "http://rebind.example/",
]  # fmt: skip


def spellings_of(address: str) -> Iterator[str]:
    """All that some program somewhere reads as this IPv4 address."""
    a, b, c, d = (int(part) for part in address.split("."))
    number = int(IPv4Address(address))
    yield from (address, f"{address}.", f"{number}", f"{number:#x}", f"0{number:o}", f"{number:#X}")
    yield from (f"{a:#x}.{b:#x}.{c:#x}.{d:#x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}")
    yield from (f"{a}.{b}.{(c << 8) + d}", f"{a}.{(b << 16) + (c << 8) + d}")
    yield from (f"{a:03}.{b:03}.{c:03}.{d:03}", f"{a:#x}.{b}.0{c:o}.{d}")
    yield from (f"[::ffff:{address}]", f"[::{address}]", f"[64:ff9b::{address}]")
    yield from (f"[::ffff:0:{address}]", f"[2002:{a:02x}{b:02x}:{c:02x}{d:02x}::]")


SPELLINGS = [
    *(f"http://{spelling}/" for address in IPV4 for spelling in spellings_of(address)),
    *(f"http://[{address}]/" for address in IPV6),
    *ODD,
]


def public_only(names: Names) -> PublicHttp:
    return PublicHttp(SystemClock(), resolver=names)


def test_the_table_is_long_enough() -> None:
    assert len(set(SPELLINGS)) >= 200


def is_blocked(request: Callable[[str], object], url: str) -> bool:
    try:
        request(url)
    except BlockedAddressError:
        return True
    return False


# One test for all of them: each takes microseconds, and a test takes milliseconds by itself.
def test_no_spelling_of_a_non_public_address_opens_a_connection(connections: list[str]) -> None:
    http = public_only(Names(["127.0.0.1"]))

    assert [url for url in SPELLINGS if not is_blocked(http.fetch, url)] == []
    assert connections == []


def test_nor_does_a_webhook(connections: list[str]) -> None:
    http = public_only(Names(["127.0.0.1"]))

    def post(url: str) -> object:
        return http.post(url.replace("http:", "https:", 1), b"{}", {}, 1.0)

    assert [url for url in SPELLINGS if not is_blocked(post, url)] == []
    assert connections == []


def test_one_non_public_address_behind_a_name_is_enough(connections: list[str]) -> None:
    with pytest.raises(BlockedAddressError):
        public_only(Names(["8.8.8.8", "::1"])).fetch("http://mixed.example/")
    assert connections == []


def pages_where_public_is(public: str, names: Names) -> PublicHttp:
    """Loopback has many addresses: one of them plays the public internet, the others the inside."""

    def allow(address: Address) -> bool:
        return str(address) == public

    return PublicHttp(
        SystemClock(),
        fetch_rules=replace(FETCH_RULES, ports=None, allow=allow),
        post_rules=replace(WEBHOOK_RULES, allow=allow),
        resolver=names,
    )


def test_a_resolver_that_changes_its_mind_reaches_the_checked_address_only(
    connections: list[str],
) -> None:
    with (
        WebServer({"/": page("public")}) as public,
        WebServer({"/": page("inside")}, address="127.0.0.2", port=public.port) as inside,
    ):
        names = Names(["127.0.0.1"], ["127.0.0.2"])
        fetched = pages_where_public_is("127.0.0.1", names).fetch(
            f"http://rebind.example:{public.port}/"
        )
    assert fetched.body == b"public"
    assert names.asked == 1
    assert public.requests[0].headers["host"] == f"rebind.example:{public.port}"
    assert inside.requests == []
    assert len(connections) == 1


def test_a_resolver_that_turns_public_too_late_opens_nothing(connections: list[str]) -> None:
    names = Names(["127.0.0.2"], ["127.0.0.1"])
    with pytest.raises(BlockedAddressError):
        pages_where_public_is("127.0.0.1", names).fetch("http://rebind.example:8080/")
    assert connections == []


@pytest.mark.parametrize(
    "location",
    ["http://127.0.0.2:{port}/secret", "http://inside.example:{port}/secret", "//127.0.0.2:{port}/secret",
     "http://127.2:{port}/secret", "http://user@127.0.0.1:{port}/secret", "file:///etc/passwd",
     "http://[::1]:{port}/secret", "gopher://127.0.0.1:{port}/", "http://2130706434:{port}/secret"],
)  # fmt: skip
def test_a_redirect_to_a_non_public_address_is_not_followed(
    location: str, connections: list[str]
) -> None:
    with WebServer({}) as public:
        public.replies["/"] = redirect(location.format(port=public.port))
        with WebServer({}, address="127.0.0.2", port=public.port) as inside:
            pages = pages_where_public_is("127.0.0.1", Names(["127.0.0.1"], ["127.0.0.2"]))
            with pytest.raises(BlockedAddressError):
                pages.fetch(f"http://public.example:{public.port}/")
    assert inside.requests == []
    assert [request.path for request in public.requests] == ["/"]
    assert len(connections) == 1
