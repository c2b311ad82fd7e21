"""Replacements in a text: each `old` exactly once, line ends kept line by line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.domain.replacements import (
    Replacement,
    ReplacementError,
    keep_line_ends,
    replace_in,
)

TEXT = "import os\n\n\ndef brew():\n    return 'tea'\n\n\ndef serve():\n    return 'tea'\n"


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    return replace_in(text, [Replacement(*pair) for pair in pairs])


def test_several_places_are_replaced_in_any_order() -> None:
    pairs = [("def serve():\n    return 'tea'", "def serve():\n    return 'cake'"), ("os", "sys")]
    expected = TEXT.replace("serve():\n    return 'tea'", "serve():\n    return 'cake'")

    assert replaced(TEXT, *pairs) == expected.replace("os", "sys")
    assert replaced(TEXT, *reversed(pairs)) == replaced(TEXT, *pairs)


def test_what_is_not_there_is_answered_with_the_nearest_lines() -> None:
    with pytest.raises(ReplacementError) as refused:
        replaced(TEXT, ("os", "sys"), ("def serves():", "def serve(cup):"))

    assert str(refused.value) == (
        "'old' of replacement 2 is not in the file. Copy it from the file exactly, without line numbers."
        " The nearest lines are:\n6\t\n7\t\n8\tdef serve():\n9\t    return 'tea'\n10\t"
    )


def test_what_is_like_nothing_says_so() -> None:
    with pytest.raises(ReplacementError, match=r"in its 9 lines is like it: read the file again"):
        replaced(TEXT, ("§§§§", ""))


def test_what_is_there_twice_is_answered_with_its_lines() -> None:
    with pytest.raises(ReplacementError, match=r"more than once, at lines 5, 9\. Add lines"):
        replaced(TEXT, ("    return 'tea'", "    return 'cake'"))


def test_many_places_are_not_all_listed() -> None:
    with pytest.raises(ReplacementError, match="at lines 1, 2, 3, 4, 5 and more"):
        replaced("a\n" * 9, ("a", "b"))


def test_places_that_overlap_are_refused() -> None:
    with pytest.raises(ReplacementError, match="overlap"):
        replaced(TEXT, ("import os\n", ""), ("os\n\n", "x"))


@pytest.mark.parametrize(
    ("text", "pair", "expected"),
    [
        ("a\r\nb\r\nc\r\n", ("b\n", "x\ny\n"), "a\r\nx\r\ny\r\nc\r\n"),
        ("a\r\nb\nc\r\n", ("a\nb\n", "x\na\nb\n"), "x\r\na\r\nb\nc\r\n"),
        ("a\r\nb\nc\r\n", ("b", "b\nnew"), "a\r\nb\nnew\nc\r\n"),
        ("a\nb\r\n", ("b", "b\nnew"), "a\nb\r\nnew\r\n"),
        ("a\r\nb", ("b", "b\nc"), "a\r\nb\r\nc"),
        ("a\nb\n", ("a\n", "x\r\n"), "x\r\nb\n"),
        ("\ufeffa\r\nb\r\n", ("a\n", ""), "\ufeffb\r\n"),
        ("a\rb\r\nc\n", ("a\rb\n", "d\n"), "d\r\nc\n"),
    ],
)
def test_line_ends_stay_what_they_are_line_by_line(
    text: str, pair: tuple[str, str], expected: str
) -> None:
    assert replaced(text, pair) == expected


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["a\n", "b\r\n", "c\n", "\r\n", "\n", "a\r\n"]), max_size=12),
    st.integers(0, 12),
)
def test_a_text_in_which_one_line_is_new_keeps_all_other_line_ends(
    lines: list[str], at: int
) -> None:
    given_lines = [line.replace("\r\n", "\n") for line in lines]
    given_lines.insert(at, "new\n")

    kept = keep_line_ends("".join(lines), "".join(given_lines)).split("new", 1)

    before, after = "".join(lines[:at]), "".join(lines[at:])
    assert kept[0] == before
    assert kept[1] in {f"\r\n{after}", f"\n{after}"}
