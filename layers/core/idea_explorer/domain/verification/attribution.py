"""Facts that a passage has, but of something else than the sentence says."""

from collections.abc import Iterator

from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.dates import Date, has_date, take_dates
from idea_explorer.domain.verification.evidence import Evidence, wrong_numbers
from idea_explorer.domain.verification.names import find_names, has_name
from idea_explorer.domain.verification.numbers import WORDS, Number, agrees_with_any, find_numbers
from idea_explorer.domain.verification.words import FUNCTION_WORDS, TOKEN, content_words

MIN_OVERLAP = 0.5  # of a sentence's words, to say that a sentence of the passage is about the same


def find_other_name(text: str, names: list[str], evidence: Evidence) -> str | None:
    """The name that a passage does not have where it says the same: one of its sentences has the numbers,
    dates and most words of ours, and somebody else's name instead of the one we have."""
    subject = _subject(text)
    if subject and fold(subject) in evidence.text:
        subject = ""  # a word that the passage has in lower case is no name
    ours = [*names, subject] if subject and subject not in names else names
    words = content_words(text) - {word for name in ours for word in content_words(name)}
    shared = [(_overlap(text, words, each), each) for each in evidence.sentences]
    overlap, best = max(shared, key=lambda pair: pair[0], default=(0.0, evidence))
    if overlap < MIN_OVERLAP or not _has_facts(text, best):
        return None
    missing = [name for name in ours if not has_name(name, best.words, best.initials)]
    theirs = [*find_names(best.text), _subject(best.text)]
    others = [name for name in theirs if name and fold(name) not in fold(text)]
    if not others or not missing or " ".join(missing) not in " ".join(TOKEN.findall(text)):
        return None  # several names that do not stand together were taken from several sentences
    elsewhere = subject in missing and not has_name(subject, evidence.words, evidence.initials)
    if elsewhere and not find_names(best.text):
        return None  # `Usage fell` where the passage has `Teachers logged`: no names at all
    return " ".join(missing)


def _subject(text: str) -> str:
    """The first word, if it may be a name."""
    first = TOKEN.search(text)
    if first is None or not first[0][0].isupper():
        return ""
    word = first[0].removesuffix("'s").removesuffix("’s")
    is_ordinary = fold(word) in FUNCTION_WORDS or fold(word) in WORDS or len(word) < 3
    return "" if is_ordinary else word


def _overlap(text: str, words: set[str], evidence: Evidence) -> float:
    """The part of a sentence's words and numbers that another has too."""
    dates, rest = take_dates(text)
    numbers = find_numbers(rest)
    same = sum(agrees_with_any(number, evidence.numbers) for number in numbers)
    same += sum(has_date(date, evidence.dates, evidence.text) for date in dates)
    size = len(words) + len(numbers) + len(dates)
    return (len(words & evidence.content) + same) / size if size else 0.0


def _has_facts(text: str, evidence: Evidence) -> bool:
    dates, rest = take_dates(text)
    return all(has_date(date, evidence.dates, evidence.text) for date in dates) and not any(
        wrong_numbers(rest, evidence)
    )


def find_swapped_numbers(text: str, evidence: Evidence) -> Iterator[Number]:
    """Numbers that the passage gives for something else: every part of it that has the number has a label
    that the sentence lacks, and a part with another number has the label that the sentence has."""
    dates, rest = take_dates(text)
    words = content_words(text) | {_label(date) for date in dates}
    labels = [
        content | {_label(date) for date in each.dates}
        for each in evidence.clauses
        for content in [each.content]
    ]
    stated = [number for number in find_numbers(rest) if not number.hedge and not number.is_share]
    for number in stated:
        if sum(other.unit == number.unit for other in stated) > 1:
            continue  # a sentence with several figures may have words for each that the passage lacks
        holders = [
            i for i, each in enumerate(evidence.clauses) if agrees_with_any(number, each.numbers)
        ]
        rivals = [
            i
            for i, each in enumerate(evidence.clauses)
            if i not in holders and any(other.unit == number.unit for other in each.numbers)
        ]
        held = set().union(*(labels[i] for i in holders))
        ours = [labels[i] - held for i in rivals]
        if (
            holders
            and any(label & words for label in ours)
            and not any(
                (labels[i] - set().union(*(labels[j] for j in rivals))) & words
                or not labels[i] - set().union(*(labels[j] for j in rivals))
                for i in holders
            )
        ):
            yield number


def _label(date: Date) -> str:
    return f"{date.year}-{date.month}-{date.quarter}"
