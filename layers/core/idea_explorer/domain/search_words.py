"""The words of a search, as SQLite's full-text search takes them."""

import re
from collections.abc import Sequence

from idea_explorer.domain.patterns import lazy_pattern

# one spelling of a word finds the others: without accents, and in singular and plural
TOKENIZER = "porter unicode61 remove_diacritics 2"
MAX_WORDS = 32  # more words do not improve the ranking
MAX_CHARACTERS = 200  # of what a person looks for
_WORD = lazy_pattern(r"\w+", re.UNICODE)


def match_any(query: str) -> str | None:
    """An expression that matches every text with one of the words; None if there are none. Any text is a
    valid query: only its words count."""
    return join_any(quote_words(query)) or None


def match_all(query: str) -> str | None:
    """The same for every text with all of the words."""
    return " AND ".join(quote_words(query)) or None


def join_any(quoted: Sequence[str]) -> str:
    return " OR ".join(quoted)


def quote_words(query: str) -> list[str]:
    """Each word once, as an expression."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(query))
    return [f'"{word}"' for word in words][:MAX_WORDS]


def make_storable(text: str) -> str:
    """Replace half of a surrogate pair, as the bytes of a file name may become one: it cannot be stored."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
