"""How large a pattern is, before it is compiled."""

import time
from typing import Any

import pytest

from idea_explorer.domain.errors import ToolError
from idea_explorer.tools.code.pattern_size import estimate_size
from idea_explorer.tools.code.patterns import MAX_TEXT, glob, line_pattern

HUGE = [
    "a{1,1000}" * 100,
    "a{1000}" * 100,
    ".{1,1000}" * 100,
    "[^a]{1,500}" * 20,
    r"\pL{1,1000}",
    r"(?i)\PN{200}" * 5,
    "(a{1,30}){1,30}" * 20,
    "((a{10}){10}){9}" * 20,
    r"\Q{1,1000}\E(x{1,999}){1}" * 20,
    "(?:a?){1,1000}" * 60,
    "(?:|a){1,1000}" * 60,
    "[é-ü]{1000}" * 30,
    "(" * 400 + "a{1,1000}" + ")" * 400,
]


@pytest.mark.parametrize("pattern", HUGE)
def test_a_pattern_that_is_short_but_huge_is_refused_at_once(pattern: str) -> None:
    began = time.process_time()
    with pytest.raises(ToolError, match="too large") as caught:
        line_pattern(pattern)
    assert caught.value.error_type == "invalid_pattern"
    assert time.process_time() - began < 1


USUAL = [
    r"def \w+_related\b", "(?i)todo|fixme", r"^class \w+\(.*Mixin", r"\p{Lu}\w+", "[A-Za-z0-9_.-]{1,64}@",
    "foo.{0,200}bar", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"import\s*\{[^}]{0,300}\}",
    "a" * MAX_TEXT,
    r"\p{Han}{2,10}", r"\p{Lu}{1,10}", r"[\p{L}\p{N}_-]{1,5}", '"[^"]{0,500}"', r"(?i)\p{Greek}{1,20}",
    "x|" * 499 + "x", r"\Qa{1,1000}{1,1000}\E", "[{]1,1000}" * 20, r"\{1000}" * 20, "{" * 500,
]  # fmt: skip


@pytest.mark.parametrize("pattern", USUAL)
def test_a_usual_pattern_is_accepted(pattern: str) -> None:
    line_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *("a{1,90}" * 5, ".{0,300}", "[^a]{99}", r"\pL\pN", r"(?i)\pL", r"\W{40}", "[é-ü]{90}"),
        *(
            "(a{1,20}){1,20}",
            r"\d\w\s[a-f0-9_]" * 50,
            "(?i)[a-z]{1,200}!",
            "(x|y|zz){1,80}",
            "(?:a?){300}",
        ),
    ],
)
def test_the_estimate_is_not_far_below_what_re2_makes_of_it(pattern: str) -> None:
    compiled: Any = line_pattern(pattern)
    assert compiled.programsize < 1.3 * estimate_size(pattern).instructions + 30


GENERAL = (
    "L Ll Lu Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs C Cc Cf Co"
)
SCRIPTS = "Han Latin Greek Cyrillic Arabic Hangul Common Inherited Any Canadian_Aboriginal Ethiopic"


@pytest.mark.parametrize("name", f"{GENERAL} {SCRIPTS}".split())
def test_no_class_of_unicode_is_larger_than_its_estimate(name: str) -> None:
    for spelling in (rf"\p{{{name}}}", rf"\P{{{name}}}", rf"\p{{^{name}}}"):
        for pattern in (spelling, f"(?i){spelling}", f"[{spelling}]", f"(?i)[^{spelling}]"):
            compiled: Any = line_pattern(pattern)
            assert compiled.programsize < estimate_size(pattern).instructions + 30


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        (r"\pL{1,9}", r"there would be about 11,259, and may be 10,000 instructions"),
        ("a{1,700}", "there would be about 700, and may be 600 characters and classes"),
    ],
)
def test_the_limit_that_was_hit_is_named(pattern: str, limit: str) -> None:
    with pytest.raises(ToolError, match=limit):
        line_pattern(pattern)


def test_the_largest_patterns_that_are_accepted_compile_at_once() -> None:
    for pattern in ("a{1,99}" * 5, "(a{1,20}){1,24}", ".{1,450}", r"\pL" * 3, "(?:a?){1,490}"):
        began = time.process_time()
        line_pattern(pattern)
        assert time.process_time() - began < 1


def test_file_patterns_have_the_same_limit() -> None:
    glob("*a" * 60 + "b")
    glob("**/" * 60 + "b")
    with pytest.raises(ToolError, match="too large"):
        glob("?" * MAX_TEXT)
