"""File name patterns and regular expressions from a model."""

import pytest

from idea_explorer.domain.errors import ToolError
from idea_explorer.tools.code.patterns import any_depth, glob, line_pattern


def matches(pattern: str, path: str) -> bool:
    return glob(pattern).fullmatch(path.encode()) is not None


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "app.py", True),
        ("*.py", "src/app.py", False),
        ("**/*.py", "app.py", True),
        ("**/*.py", "src/deep/app.py", True),
        ("src/**", "src/deep/app.py", True),
        ("src/**/app.py", "src/app.py", True),
        ("src/**/app.py", "src/a/b/app.py", True),
        ("src/*/app.py", "src/a/b/app.py", False),
        ("a?.py", "ab.py", True),
        ("a?.py", "a/.py", False),
        ("./app.py", "app.py", True),
        ("**", "any/thing", True),
        ("*.{ts,tsx}", "app.tsx", True),
        ("*.{ts,tsx}", "app.js", False),
        ("app/[...slug].tsx", "app/[...slug].tsx", True),
        ("{{name}}/x", "{{name}}/x", True),
        ("a.py", "aXpy", False),
        ("*", ".env", True),
        ("*é*", "café.md", True),
    ],
)
def test_a_pattern_matches_as_in_a_shell(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


def test_a_name_alone_filters_at_any_depth() -> None:
    assert any_depth("*.py") == "**/*.py"
    assert any_depth("src/*.py") == "src/*.py"


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../b", "a\\b"])
def test_a_pattern_that_points_outside_is_invalid(pattern: str) -> None:
    with pytest.raises(ToolError) as caught:
        glob(pattern)
    assert caught.value.error_type == "invalid_pattern"


@pytest.mark.parametrize(
    "pattern", ["(", "a{2000}", "(?=x)", r"(a)\1", "[z-a]", "*", "\ud800", "(?P<"]
)
def test_a_bad_regex_is_invalid_and_says_why(pattern: str) -> None:
    with pytest.raises(ToolError, match="RE2") as caught:
        line_pattern(pattern)
    assert caught.value.error_type == "invalid_pattern"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("^b", b"a\nb\n", [2]),
        ("a$", b"a\r\nb\na\n", [0, 5]),
        (r"\Ab", b"a\nb\n", [2]),
        (r"a\Z", b"a\nb\na\n", [0, 4]),
        (r"a\$", b"a\na$\n", [2]),
        ("[$]", b"a\n$\n", [2]),
        (r"\Qa$\E", b"a\na$\n", [2]),
        (r"\Qa(", b"a\na(\n", [2]),
        ("b|\\Qa\\", b"a\na\\\n", [2]),
        (r"a\Q", b"b\na\n", [2]),
        ("[^x]*b", b"a\nb\n", [2]),
        (r"a\sb", b"a\nb\na b\n", [4]),
        ("(?s)a.b", b"a\nb\n", []),
        ("(?i)B|c", b"b\nC\n", [0, 2]),
    ],
)
def test_a_regex_is_matched_within_single_lines(
    pattern: str, text: bytes, expected: list[int]
) -> None:
    found = line_pattern(pattern).finditer(memoryview(text), 0, len(text))
    assert [span.start() for span in found] == expected
