"""Rules for text."""

import pytest

from idea_explorer.domain.text import fold


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
