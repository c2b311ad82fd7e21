"""Which value or name of a passage may be the one that a sentence should have had."""

import re
from collections.abc import Iterable

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.dates import Date
from idea_explorer.domain.verification.index import is_form
from idea_explorer.domain.verification.mentions import Item
from idea_explorer.domain.verification.number_words import WORDS
from idea_explorer.domain.verification.numbers import Number
from idea_explorer.domain.verification.statements import Name, find_stems
from idea_explorer.domain.verification.words import TOKEN

MAX_BEFORE = 30  # characters before and after a value that say what it is
_PLACE = lazy_pattern(r"\b(?:in|at|near|im|en|a|aus|from|dans|bei)(?: the| der| dem| la| el)? $")
_INTERVAL = lazy_pattern(r"-?\s?(?:CI|KI|IC|confidence|Konfidenz)", re.IGNORECASE)
_WHOLE = lazy_pattern(r"\b(?:of (?:the|our|its|all|these)|von den|de los|de las|des) $")


def is_rival(ours: Item, text: str, theirs: Item, passage: str, words: Iterable[str]) -> bool:
    """Whether theirs may stand where ours does. `words` are those of our sentence, which has to speak of what
    the number of a passage counts."""
    if isinstance(ours, Name):
        return _is_place(ours, text) == _is_place(theirs, passage)
    if isinstance(ours, Date) and isinstance(theirs, Date):
        return (theirs.year if ours.month is None else theirs.month) is not None
    if not isinstance(ours, Number) or not isinstance(theirs, Number):
        return True
    after = passage[theirs.end : theirs.end + MAX_BEFORE]
    if _INTERVAL.match(after) or _is_in_words(ours) != _is_in_words(theirs):
        return False
    noun = _first_word(after)
    if _is_in_words(ours):
        counted = _first_word(text[ours.end : ours.end + MAX_BEFORE])
        return is_form(noun, counted)
    if theirs.counts and not any(is_form(stem, w) for stem in find_stems(noun) for w in words):
        return False
    return not is_identifier(theirs, passage)


def _is_in_words(number: Number) -> bool:
    return fold(number.text) in WORDS


def _first_word(text: str) -> str:
    found = TOKEN.search(text)
    return fold(found[0]) if found else ""


def _is_place(value: Item, text: str) -> bool:
    return _PLACE.search(fold(_before(value, text))) is not None


def _before(value: Item, text: str) -> str:
    return text[max(0, value.start - MAX_BEFORE) : value.start]


def is_identifier(value: Item, text: str) -> bool:
    """Whether a number is a part of a name: `Corvid DB 6.2`, `version 88`, `AP-4712`."""
    if not isinstance(value, Number) or value.unit or not value.text[0].isdigit():
        return False
    *words, last = _before(value, text).split(" ")
    if last[-1:].isalpha() or last.endswith("-"):
        return True
    word = words[-1] if words else ""
    return fold(word) == "version" or (word[:1].isupper() and value.start > len(word) + 1)


def is_whole(value: Item, text: str) -> bool:
    """Whether a sentence gives a part of the number: `half of the 2,460 posts`."""
    return _WHOLE.search(_before(value, text)) is not None
