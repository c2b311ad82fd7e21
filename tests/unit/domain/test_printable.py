"""Text that a terminal shows and never obeys."""

import json
import re
import unicodedata

import pytest

from idea_explorer.domain.text import make_printable, unescape_prose

OBEYED = [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
BIDI = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
HIDDEN = [0xAD, 0x200B, 0x2060, 0xFEFF, 0x3164, 0xE0001, 0xE0041, 0xE007F, 0xE01EF]
# marks around or below numbers and words of Arabic, Syriac and Kaithi, which are seen
SHAPED = [*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD]


def test_every_format_character_that_is_not_seen_is_spelled_out() -> None:
    formats = {chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"}

    assert {char for char in formats if make_printable(char) == char} == set(map(chr, SHAPED))


@pytest.mark.parametrize("code", [*OBEYED, *BIDI, *HIDDEN, 0xD800, 0xDFFF], ids=hex)
def test_what_a_terminal_obeys_or_hides_is_spelled_out(code: int) -> None:
    shown = make_printable(f"a{chr(code)}b")

    assert re.fullmatch(r"a(\\x[0-9a-f]{2}|(\\u[0-9a-f]{4}){1,2})b", shown)
    assert make_printable(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\u009b2J"),
        ("pay \u202etxt.exe", r"pay \u202etxt.exe"),
        ("one\rtwo", r"one\x0dtwo"),
        ("one\r\ntwo", "one\r\ntwo"),
        ("ad\u200dmin", r"ad\u200dmin"),
        ("\u200c", r"\u200c"),
    ],
)
def test_examples(text: str, shown: str) -> None:
    assert make_printable(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "tab\tand\nline",
        "Crème brûlée, 5\u00a0€, 10\u202f000",
        "👩\u200d👩\u200d👧 👍🏽 ❤\ufe0f 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈",
        "نمی\u200cخواهم",
        "क्\u200dष श्री\u200dलंका",
        "שלום مرحبا 你好 葛\U000e0100 สวัสดี 한국어",
        r"a literal \x1b stays",
    ],
)
def test_words_of_every_language_and_emoji_stay_as_they_are(text: str) -> None:
    assert make_printable(text) == text


def test_json_stays_the_same_json() -> None:
    value = "".join(map(chr, range(0x3000))) + "\ud800 \U000e0041 👩\u200d👧"
    printed = make_printable(json.dumps([value], ensure_ascii=False))

    assert json.loads(printed) == [value]
    assert not [char for char in printed if unicodedata.category(char) in {"Cc", "Zl", "Zp", "Cs"}]


@pytest.mark.parametrize(
    ("markdown", "read"),
    [
        ("2 \\* 3 \\[x\\]", "2 * 3 [x]"),
        ("a\\`b `c:\\_d` \\_", "a`b `c:\\_d` _"),
        ("C:\\new", "C:\\new"),
        ("\\\\", "\\"),
    ],
)
def test_a_person_reads_markdown_without_its_escapes_but_code_as_it_is(
    markdown: str, read: str
) -> None:
    assert unescape_prose(markdown) == read
