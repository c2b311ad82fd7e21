"""The head of a request, in whatever parts it arrives."""

import pytest

from idea_explorer.api.heads import HeadCheck
from idea_explorer.api.http import RequestError
from tests.performance.growth import measure

FINE = b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"
MANY = b"GET / HTTP/1.1\r\n%s\r\n"
BAD = [
    (b"GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nA: b\r\n\tc\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nA: \0\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n\nHost: a\r\n\r\n", 400),
    (b"\nGET / HTTP/1.1\r\n\r\n", 400),
    (b"\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nA: b\r\r\n\r\n", 400),
    (b"GET / HTTP/2\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400),
    (MANY % (b"A: b\r\n" * 11), 431),
    (b"GET / HTTP/1.1\r\nA: %s\r\n\r\n" % (b"b" * 200), 431),
]


def check(head: bytes, size: int, checker: HeadCheck | None = None) -> None:
    """Check a head that arrives in parts of this size."""
    checker = checker or HeadCheck(200, 10)
    for end in range(size, len(head) + size, size):
        checker.check(head[:end])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1_000])
def test_a_head_is_read_alike_in_whatever_parts_it_arrives(size: int) -> None:
    check(FINE, size)
    check(MANY % (b"A: b\r\n" * 10), size)
    for head, status in BAD:
        with pytest.raises(RequestError) as refused:
            check(head, size)
        assert refused.value.status == status, head


def test_the_next_head_of_a_connection_is_checked_from_its_beginning() -> None:
    checker = HeadCheck(200, 10)
    for _ in range(20):
        check(FINE, 7, checker)
    for head, _ in BAD:
        check(FINE, 1, checker := HeadCheck(200, 10))
        with pytest.raises(RequestError):
            check(head, 1, checker)


def test_what_follows_a_head_is_not_part_of_it() -> None:
    check(FINE + b"\n\0" * 500, 2_000)


@pytest.mark.long
@pytest.mark.parametrize("text", ["a", "a: b\r\n"])
def test_bytes_that_arrive_one_by_one_cost_the_same_each(text: str) -> None:
    def feed(head: str) -> None:
        check(head.encode(), 1, HeadCheck(16_384, 16_384))

    whole = text * (16_000 // len(text))
    part = whole[: len(whole) // 4]
    # one measurement may be off; what is slow is slow each time
    assert any(measure(feed, whole) < 8 * measure(feed, part) for _ in range(3))
