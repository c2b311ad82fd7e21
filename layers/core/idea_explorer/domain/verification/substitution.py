"""Names that stand in a sentence where its passage has another one, in the same words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.contexts import NAME, Contexts
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
    fold_word,
    language,
)

MIN_SHARED = 0.5  # of the words of a sentence, with the statement that is most like it
MIN_NAME = 3  # letters
_AUXILIARIES = frozenset("is was has had will would can".split())
_ABSTRACT = ("s", "ion", "ment", "age", "ness", "ity", "ing", "ance", "ence", "ship", "ism", "th")
MIN_PART = 4  # letters of a word that a compound is made of
_SUBJECT = lazy_pattern(rf"({NAME}) (?:\w{{2,12}} )??(\w{{2,20}})\b")


def find_other_word(text: str, passages: Sequence[Contexts]) -> Iterator[str]:
    """Capitalised words that no passage has, between words between which one has another. In German this
    finds the names, which look like every other noun."""
    ours = [match[0] for match in TOKEN.finditer(text)]
    folded = [fold_word(token) for token in ours]
    known = set(folded)
    for place in range(1, len(ours)):
        word = folded[place]
        if not ours[place][0].isupper() or len(word) < MIN_PART or word in MONTHS:
            continue
        before = tuple(folded[max(0, place - 2) : place])
        if any(word in passage.words for passage in passages):
            named = _union(passage.after.get(before) for passage in passages)
            if _is_title(ours[max(0, place - 2) : place]) and named and not named & known:
                yield ours[place]
            continue
        following = folded[place + 1] if place + 1 < len(folded) else ""
        around = (before[-1], following)
        found = set[str]()
        if _is_content(following):
            found |= _union(passage.between.get(around) for passage in passages)
        if any(token[0].isupper() for token in ours[max(0, place - 2) : place]):
            found |= _union(passage.after.get(before) for passage in passages)  # Bremen and …
        is_other = bool(found) and not found & known
        if is_other and not any(is_compound(word, passage.words) for passage in passages):
            yield ours[place]


def _union(found: Iterable[set[str] | None]) -> set[str]:
    return set[str]().union(*(each for each in found if each))


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


def find_other_agent(text: str, passages: Sequence[Contexts]) -> str | None:
    """The subject of a sentence, if a passage says that somebody else did it: `led by …`."""
    for match in _SUBJECT.finditer(text):
        done = fold_word(match[2])
        names = [name for passage in passages for name in passage.agents.get(done, ())]
        if not names or text[match.end() :].startswith((" by ", " par ", " durch ")):
            continue
        if not any(content_words(name) & content_words(text) for name in names):
            return match[1]
    return None
