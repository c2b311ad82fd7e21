"""Recognise the language of a report by its frequent words."""

from idea_explorer.domain.patterns import lazy_pattern

_WORD = lazy_pattern(r"[^\W\d_]+")
_SAMPLE = 20_000  # characters, enough to recognise the language
# Of all words; running text has three times as many, even with tables and lists.
_SHARE = 0.04
_LEAST = 8  # frequent words: in a few lines, chance decides
# Frequent in a language, and rare in others with the same letters.
_FREQUENT = {
    "en": "the and of to that with are this it be which from would they what",
    "de": "der die das und ist nicht eine den mit für von auf wird sich dem auch im oder zu bei",
    "fr": "le les des et est une du dans pour qui sur avec pas au aux par cette ce sont ou",
    "es": "el los las y en del una para con por es se su más como lo al",
    "it": "il di che della per una con non sono gli dei nel anche più è le al",
    "pt": "os as em do da um uma para com não por mais dos das ao é se foi",
    "nl": "het een van en is dat niet voor op met zijn te aan ook worden bij de",
}
_WORDS = {language: frozenset(words.split()) for language, words in _FREQUENT.items()}


def find_language(text: str) -> str | None:
    """The code of the language that a text is written in; None if it is none of those known here, if the text
    is too short to tell, or if two are equally likely."""
    words = _read_words(text)
    counts = sorted((_count(words, language), language) for language in _WORDS)
    (second, _), (most, best) = counts[-2:]
    return best if most > second and most >= _LEAST and _is_enough(most, words) else None


def is_english(text: str) -> bool:
    words = _read_words(text)
    return _is_enough(_count(words, "en"), words)


def _read_words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text[:_SAMPLE])]


def _count(words: list[str], language: str) -> int:
    return sum(word in _WORDS[language] for word in words)


def _is_enough(count: int, words: list[str]) -> bool:
    return count >= _SHARE * max(len(words), 1)
