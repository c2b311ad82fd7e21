"""Rules for text."""

import pytest

from idea_explorer.domain.text import fold, unescape_html


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Plain TEXT", "plain text"),
        ("Café", "cafe"),
        ("Cafe\u0301", "cafe"),  # the accent follows its letter, which is plain ASCII
        ("Straße, ﬁne ½", "strasse, fine 1⁄2"),
        ("“Ñandú” – 中文", "“nandu” – 中文"),
        ("a" + "\u0323\u0301" * 300 + "b", "ab"),
    ],
)
def test_case_and_accents_are_removed_for_comparing(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_references_to_characters_become_the_characters() -> None:
    assert unescape_html("https://a.example/?b=1&amp;c=&#50;") == "https://a.example/?b=1&c=2"
    assert unescape_html("https://a.example/") == "https://a.example/"
