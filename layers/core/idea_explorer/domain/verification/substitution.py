"""Names that stand in a sentence where its passage has another one, in the same words."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.dates import MONTHS
from idea_explorer.domain.verification.index import Index
from idea_explorer.domain.verification.number_words import SCALES
from idea_explorer.domain.verification.statements import (
    Statements,
    find_stems,
    is_ordinary,
    plain_name,
)
from idea_explorer.domain.verification.words import (
    FUNCTION_WORDS,
    TOKEN,
    content_words,
    language,
)

MIN_SHARED = 0.5  # of the words of a sentence, with the statement that is most like it
MIN_NAME = 3  # letters
_AUXILIARIES = frozenset("is was has had will would can".split())
_ABSTRACT = ("s", "ion", "ment", "age", "ness", "ity", "ing", "ance", "ence", "ship", "ism", "th")
MIN_PART = 4  # letters of a word that a compound is made of
_NAME = r"[A-ZÀ-Þ][\w&'’.-]{1,40}(?: [A-ZÀ-Þ][\w&'’.-]{1,40}){0,3}"
_AGENT = re.compile(rf"\b(\w{{2,20}}) (?:by|par|durch) ({_NAME})")
_SUBJECT = re.compile(rf"({_NAME}) (?:\w{{2,12}} )??(\w{{2,20}})\b")


def find_other_word(text: str, passage: str) -> Iterator[str]:
    """Capitalised words that the passage does not have, between words between which it has another. In
    German this finds the names, which look like every other noun."""
    between, after = _read_contexts(passage)
    ours = [match[0] for match in TOKEN.finditer(text)]
    folded = [fold(token) for token in ours]
    known = set(folded)
    theirs = {fold(match[0]) for match in TOKEN.finditer(passage)}
    for place in range(1, len(ours)):
        word = folded[place]
        if not ours[place][0].isupper() or len(word) < 4 or word in MONTHS:
            continue
        if word in theirs:
            named = after.get((folded[place - 2], folded[place - 1]), set())
            if _is_title(ours[max(0, place - 2) : place]) and named and not named & known:
                yield ours[place]
            continue
        following = folded[place + 1] if place + 1 < len(folded) else ""
        start = max(0, place - 2)
        before = folded[start:place]
        found = between.get((before[-1], following), set()) if _is_content(following) else set()
        if any(token[0].isupper() for token in ours[start:place]):
            found = found | after.get(tuple(before), set())  # Bremen and …
        if found and not found & known and not is_compound(word, theirs):
            yield ours[place]


def _is_title(before: list[str]) -> bool:
    """`University of`, after which only one name is right."""
    return len(before) == 2 and before[0][0].isupper() and before[1] in {"of", "de", "di", "von"}


def is_compound(word: str, theirs: Iterable[str]) -> bool:
    """Whether a word is made of one of theirs, or a form of it: Krankenhausneubau and Neubau."""
    return word in SCALES or any(
        word.endswith(other) or word.startswith(other) or other.startswith(word)
        for other in theirs
        if len(other) >= MIN_PART and other.isalpha()
    )


def _is_content(word: str) -> bool:
    return len(word) > 2 and word not in FUNCTION_WORDS


@lru_cache(maxsize=64)
def _read_contexts(
    passage: str,
) -> tuple[dict[tuple[str, str], set[str]], dict[tuple[str, ...], set[str]]]:
    """The capitalised words of a passage by the words around them, and by the two words before them."""
    tokens = [match[0] for match in TOKEN.finditer(passage)]
    folded = [fold(token) for token in tokens]
    between: dict[tuple[str, str], set[str]] = {}
    after: dict[tuple[str, ...], set[str]] = {}
    for place in range(2, len(tokens)):
        if not tokens[place][0].isupper():
            continue
        following = folded[place + 1] if place + 1 < len(folded) else ""
        between.setdefault((folded[place - 1], following), set()).add(folded[place])
        after.setdefault((folded[place - 2], folded[place - 1]), set()).add(folded[place])
    return between, after


def find_unknown_subject(text: str, passages: Sequence[Index]) -> str | None:
    """The first word of an English sentence, if it can only be a name, no passage has it, and the statement
    that is most like the sentence has another name."""
    tokens = [match[0] for match in islice(TOKEN.finditer(text), 2)]
    if len(tokens) < 2 or not _may_be_name(tokens[0]) or tokens[1][0].isupper():
        return None
    first, verb = plain_name(tokens[0]), fold(tokens[1])
    if language(text) != "en" or any(first in fold(index.text.text) for index in passages):
        return None
    if verb not in _AUXILIARIES and not any(
        i.find_forms(s) for i in passages for s in find_stems(verb)
    ):
        return None
    said = {plain_name(match[0]) for match in TOKEN.finditer(text)}
    words = {word for statement in Statements(text).all for word in statement.words}
    for index in passages:
        place, shared = _find_most_alike(words, index)
        statement = index.text.all[place] if shared >= MIN_SHARED * len(words) else None
        known = index.text.names
        if statement and any(n.tokens - said for n in index.text.find_names(statement, known)):
            return tokens[0]
    return None


def _may_be_name(word: str) -> bool:
    """Nouns that begin a sentence without an article are most often plural or abstract."""
    is_capital = word[0].isupper() and len(word) >= MIN_NAME and not is_ordinary(word)
    return is_capital and not plain_name(word).endswith(_ABSTRACT)


def _find_most_alike(words: set[str], index: Index) -> tuple[int, int]:
    """The statement that shares most words, and how many."""
    counts: Counter[int] = Counter()
    for word in words:
        forms = index.find_forms(word) if word[0].isalpha() else {word}
        counts.update({place for form in forms for place in index.places.get(form, ())})
    return max(counts.items(), key=lambda pair: pair[1], default=(0, 0))


def find_other_agent(text: str, passage: str) -> str | None:
    """The subject of a sentence, if the passage says that somebody else did it: `led by …`."""
    agents: dict[str, list[str]] = {}
    for match in _AGENT.finditer(passage):
        agents.setdefault(fold(match[1]), []).append(match[2])
    for match in _SUBJECT.finditer(text):
        names = agents.get(fold(match[2]), [])
        if not names or text[match.end() :].startswith((" by ", " par ", " durch ")):
            continue
        if not any(content_words(name) & content_words(text) for name in names):
            return match[1]
    return None
