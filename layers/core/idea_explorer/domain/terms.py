"""The words that a text is about. Used by a child process too, so it loads little."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold, spell_out_signs

MAX_TERMS = 40  # per document, so that an index of 5,000 documents has 2 MB
STEM_LENGTH = 7
MAX_CACHED = 20_000  # words, of which most documents have a thousand
MAX_CACHED_LENGTH = 20  # letters: longer words are rare

_WORD = lazy_pattern(r"\w+")
_CJK = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# a space for what of ASCII is no part of a word
_TO_SPACES = bytes(
    code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)
).ljust(256)
_COMMON = frozenset(
    """
    about above after again all also and any are because been before being below between both but
    can could did does doing down during each few for from further had has have having help
    here how idea into its itself just like make many more most much need new not now off once
    only other our out over own per please same she should some such than that the their them then
    there these they this those through too under until use used using very want was way were
    what when where which while who whom why will with within without would you your
    """.split()
)
# They tell ideas apart, but no text is about them.
_NUMBERS = frozenset(
    "zero one two three four five six seven eight nine ten first second third".split()
)


def extract_terms(text: str) -> list[str]:
    """The words a text is about, in order, each once. Numbers count: they tell short texts apart."""
    words = _words(spell_out_signs(text))
    if text.isascii():
        terms = (_CACHE[word] or (word if is_number(word) else "") for word in words)
        return list(dict.fromkeys(term for term in terms if term))
    return list(dict.fromkeys(term for word in words for term in _find_terms(word)))


def find_frequent_terms(text: str) -> tuple[str, ...]:
    """The most frequent terms of a text, which is not about its numbers."""
    words = _words(text)
    if text.isascii():
        counted = Counter(map(_CACHE.__getitem__, words))
        del counted[""]
    else:
        counted = Counter(term for word in words for term in _find_text_terms(word))
    # most words occur once, and need not be sorted if enough of them occur more often
    repeated = [item for item in counted.items() if item[1] > 1]
    ranked = repeated if len(repeated) >= MAX_TERMS else counted.items()
    return tuple(t for t, _ in sorted(ranked, key=itemgetter(1), reverse=True)[:MAX_TERMS])


class _TermCache(dict[str, str]):
    """The term of each word of ASCII letters, empty for one that says nothing: documents of one team have
    most of their words in common."""

    def __missing__(self, word: str) -> str:
        term = "".join(_find_text_terms(word))
        if len(self) >= MAX_CACHED:
            self.clear()
        if len(word) <= MAX_CACHED_LENGTH:
            self[word] = term
        return term


_CACHE = _TermCache()


def _words(text: str) -> list[str]:
    folded = fold(text)
    if folded.isascii():
        return folded.encode().translate(_TO_SPACES).decode().split()  # several times as fast
    return _WORD.findall(unicodedata.normalize("NFC", folded))


def _find_text_terms(word: str) -> Sequence[str]:
    return () if is_number(word) else _find_terms(word)


def _find_terms(word: str) -> Sequence[str]:
    if not word.isascii() and _CJK.search(word):
        # these scripts put no spaces between words, so pairs of characters count as words
        return [word[i : i + 2] for i in range(max(1, len(word) - 1))]
    if is_number(word):
        return (word,)
    return (_stem(word),) if len(word) >= 3 and word not in _COMMON else ()


def is_number(word: str) -> bool:
    return word in _NUMBERS or word.isdigit()


def _stem(word: str) -> str:
    """The first letters of the singular, so that subscriber and subscription match."""
    if word.endswith("ies") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif word.endswith(("xes", "ches", "shes", "sses")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        word = word[:-1]
    return word[:STEM_LENGTH]
