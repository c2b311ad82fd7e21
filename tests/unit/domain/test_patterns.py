"""Patterns that are compiled when they are first used."""

import re

import pytest

from idea_explorer.domain.patterns import lazy_pattern


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    lazy, compiled = lazy_pattern("A(?P<b>b)?", re.IGNORECASE), re.compile("A(?P<b>b)?", re.I)
    text = "xab ay"

    assert [found.span() for found in lazy.finditer(text)] == [(1, 3), (4, 5)]
    for _ in range(2):  # compiled by the first use
        assert (found := lazy.search(text))
        assert found["b"] == "b"
        assert lazy.match(text) is None
        assert lazy.fullmatch("AB")
        assert lazy.sub("-", text) == compiled.sub("-", text)
        assert lazy.subn("-", text) == compiled.subn("-", text)
        assert lazy.split(text) == compiled.split(text)
        assert lazy.findall(text) == compiled.findall(text)
    assert (lazy.pattern, lazy.flags) == (compiled.pattern, compiled.flags)
    assert lazy.groupindex == compiled.groupindex
    assert lazy_pattern(rb"\d").findall(b"1a2") == [b"1", b"2"]


def test_a_pattern_is_not_compiled_before_it_is_used() -> None:
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.search("")
