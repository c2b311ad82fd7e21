"""Facts that a passage has, but of something else than the sentence says."""

from collections.abc import Iterator, Sequence
from itertools import islice

from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.dates import Date, has_date, take_dates
from idea_explorer.domain.verification.evidence import Evidence, wrong_numbers
from idea_explorer.domain.verification.facts import NEGATED, Fact, kind_of, read_facts
from idea_explorer.domain.verification.names import find_names, has_name
from idea_explorer.domain.verification.number_words import WORDS
from idea_explorer.domain.verification.numbers import Number, agrees_with_any, find_numbers
from idea_explorer.domain.verification.words import FUNCTION_WORDS, TOKEN, content_words, language

_AUXILIARIES = frozenset("is was has had will would can ist war hat wird est a es ha".split())
_ABSTRACT = ("s", "ion", "ment", "age", "ness", "ity", "ing", "ance", "ence", "ship", "ism", "th")
MAX_COVERED_WITHOUT_HEAD = 0.7
MAX_COVERED = 0.4  # of the words about a value, if a sentence that has them is about another value
MAX_PARALLEL = 8  # words about a value in sentences that are alike
MAX_HOLDERS = 10  # a number that a passage has more often says little
MIN_OVERLAP = 0.5  # of a sentence's words, to say that a sentence of the passage is about the same


def find_other_name(text: str, names: list[str], evidence: Evidence) -> str | None:
    """The name that a passage does not have where it says the same: one of its sentences has the numbers,
    dates and most words of ours, and somebody else's name instead of the one we have."""
    subject = _subject(text)
    if subject and fold(subject) in evidence.text:
        subject = ""  # a word that the passage has in lower case is no name
    ours = [subject, *names] if subject and subject not in names else names
    words = content_words(text) - {word for name in ours for word in content_words(name)}
    dates, rest = take_dates(text)
    numbers = find_numbers(rest)
    shared = [(_overlap(words, numbers, dates, each), each) for each in evidence.sentences]
    overlap, best = max(shared, key=lambda pair: pair[0], default=(0.0, evidence))
    if overlap < MIN_OVERLAP or not _has_facts(text, best):
        return None
    missing = [
        name
        for name in ours
        if not has_name(name, best.words, best.initials)
        and not (_is_acronym(name, evidence) or fold(name) in evidence.heading_words)
    ]
    theirs = [*find_names(best.text), _subject(best.text)]
    others = [name for name in theirs if name and fold(name) not in fold(text)]
    if not others or not missing or " ".join(missing) not in " ".join(TOKEN.findall(text)):
        return None  # several names that do not stand together were taken from several sentences
    elsewhere = subject in missing and not has_name(subject, evidence.words, evidence.initials)
    if elsewhere and not (find_names(best.text) and _is_subject_of(best, text)):
        return (
            None  # `Usage fell`, `Together they hold`: the first word of a sentence may be any word
        )
    return " ".join(missing)


def _is_acronym(name: str, evidence: Evidence) -> bool:
    """Whether a passage only has the words that a name is short for; WHO is not `who`."""
    word = fold(name)
    return name in evidence.initials and (word in FUNCTION_WORDS or word not in evidence.words)


def _is_subject_of(evidence: Evidence, text: str) -> bool:
    """Whether the second word of a sentence, most often a verb, is in the passage too or can only be a verb.
    Before that, nouns without an article are most often plural or abstract."""
    first, second = [fold(match[0]) for match in islice(TOKEN.finditer(text), 2)] or ["", ""]
    is_name = second in _AUXILIARIES and not first.endswith(_ABSTRACT)
    return is_name or bool(content_words(second) & evidence.content)


def _subject(text: str) -> str:
    """The first word, if it may be a name."""
    first = TOKEN.search(text)
    if first is None or not first[0][0].isupper():
        return ""
    word = first[0].removesuffix("'s").removesuffix("’s")
    is_ordinary = fold(word) in FUNCTION_WORDS or fold(word) in WORDS or len(word) < 3
    return "" if is_ordinary else word


def _overlap(
    words: set[str], numbers: Sequence[Number], dates: Sequence[Date], evidence: Evidence
) -> float:
    """The part of a sentence's words and numbers that another has too."""
    same = sum(agrees_with_any(number, evidence.numbers) for number in numbers)
    same += sum(has_date(date, evidence.dates, evidence.text) for date in dates)
    size = len(words) + len(numbers) + len(dates)
    return (len(words & evidence.content) + same) / size if size else 0.0


def _has_facts(text: str, evidence: Evidence) -> bool:
    dates, rest = take_dates(text)
    return all(has_date(date, evidence.dates, evidence.text) for date in dates) and not any(
        wrong_numbers(rest, evidence)
    )


def find_swapped_values(text: str, evidence: Evidence) -> Iterator[Number | Date]:
    """Numbers and dates that the passage gives for something else: it has another value with the words of
    the sentence, and this one with words that the sentence lacks."""
    stated = read_facts(text)
    only_nouns = language(text) == "de"
    shares = [number for number in evidence.numbers if number.is_share]
    for fact in stated:
        value = fact.value
        if isinstance(value, Number) and (
            _is_factor(value, text) or agrees_with_any(value, shares)
        ):
            continue
        holders = [held for held in evidence.facts if has_value(value, held.value)]
        spoken = {_place(h) for h in evidence.facts if _is_stated(h, stated, besides=fact)}
        others = [
            other
            for other in evidence.facts
            if _place(other) not in spoken and not has_value(value, other.value)
        ]
        if 0 < len(holders) <= MAX_HOLDERS and all(
            any(_is_alike(h, r) and _fits_better(fact, r, h, only_nouns=only_nouns) for r in others)
            for h in holders
        ):
            yield value


def _is_stated(found: Fact, stated: Sequence[Fact], *, besides: Fact) -> bool:
    return any(has_value(each.value, found.value) for each in stated if each is not besides)


def _place(fact: Fact) -> tuple[int, frozenset[str], str]:
    """Equal for values of one kind that the same words are about."""
    return fact.group, fact.label, kind_of(fact.value)


def _is_factor(number: Number, text: str) -> bool:
    return text[number.end : number.end + 8].lstrip().startswith(("times", "mal", "fois"))


def has_value(stated: Number | Date, found: Number | Date) -> bool:
    if isinstance(stated, Number) and isinstance(found, Number):
        return agrees_with_any(stated, [found])
    return isinstance(stated, Date) and isinstance(found, Date) and has_date(stated, [found], "")


def _is_alike(first: Fact, second: Fact) -> bool:
    """Whether two values of a passage are of one kind and stand side by side, or in sentences of one form."""
    one, other = first.value, second.value
    if isinstance(one, Date) or isinstance(other, Date):
        return isinstance(one, Date) and isinstance(other, Date) and first.group == second.group
    if first.group == second.group:
        return one.unit == other.unit
    longer = max(len(first.label), len(second.label))
    alike = len(first.label & second.label) >= longer / 4
    return one.unit == other.unit and alike and longer <= MAX_PARALLEL


def _fits_better(fact: Fact, rival: Fact, holder: Fact, *, only_nouns: bool) -> bool:
    """Whether a sentence has the words about the rival instead of those about the holder of its value. The
    names of a German sentence are only nouns."""
    ours = fact.label
    of_rival, of_holder = rival.label - holder.label, holder.label - rival.label
    said, missing = of_rival & ours, of_holder & ours
    if NEGATED in said:
        return True
    if not said or not of_holder:
        return False
    if not missing and (isinstance(fact.value, Number) or said & rival.names):
        return True
    covers_little = len(missing) <= MAX_COVERED * len(of_holder)
    if (
        (covers_little or not only_nouns)
        and said & rival.names
        and (of_holder & holder.names) - ours
    ):
        return True
    is_other_head = not (holder.head - rival.label) & ours
    most = MAX_COVERED_WITHOUT_HEAD if is_other_head else MAX_COVERED
    return said == of_rival and len(missing) <= most * len(of_holder)
