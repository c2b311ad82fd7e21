"""What the passages of a sentence state."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from idea_explorer.domain.verification.computed import is_computed, is_time_between
from idea_explorer.domain.verification.contexts import Contexts
from idea_explorer.domain.verification.dates import Date
from idea_explorer.domain.verification.derivations import find_derived
from idea_explorer.domain.verification.index import Index
from idea_explorer.domain.verification.names import CURRENCIES
from idea_explorer.domain.verification.numbers import (
    Number,
    agrees_with_any,
    find_counts,
    find_numbers,
    read_both_ways,
)
from idea_explorer.domain.verification.ordinals import Ordinal, find_ordinals
from idea_explorer.domain.verification.words import (
    MAX_PASSAGE,
    find_words,
    language,
    quotable,
)

SMALL = 12  # numbers up to it are often written in words


class Evidence:
    """What the passages of one sentence state, read once."""

    def __init__(self, passages: Iterable[str], titles: Sequence[str] = ()) -> None:
        self.text = "\n".join(passage[:MAX_PASSAGE] for passage in (*titles, *passages))
        self.titles = titles

    @cached_property
    def passages(self) -> Sequence[Index]:
        """Each source by its statements."""
        return [Index(self.text)]

    @cached_property
    def contexts(self) -> Sequence[Contexts]:
        """Which names stand between which words, in each source."""
        return [Contexts(self.text)]

    @cached_property
    def dates(self) -> list[Date]:
        return [date for index in self.passages for date in index.text.dates]

    @cached_property
    def numbers(self) -> list[Number]:
        return [
            number
            for index in self.passages
            for number in read_both_ways(index.text.numbers, index.text.rest)
        ]

    @cached_property
    def ordinals(self) -> list[Ordinal]:
        return [each for index in self.passages for each in find_ordinals(index.text.rest)]

    @cached_property
    def words(self) -> Counter[str]:
        currencies = [name for sign, name in CURRENCIES.items() if sign in self.text.lower()]
        return Counter([*find_words(self.text), *currencies])

    @cached_property
    def initials(self) -> str:
        """The first letters of all words, among which an acronym of several of them is found."""
        return "".join(word[0] for word in self.text.split() if word[0].isalpha()).upper()

    @cached_property
    def quotable(self) -> str:
        return quotable(self.text)


def wrong_numbers(text: str, evidence: Evidence) -> Iterator[Number]:
    stated = find_numbers(text)
    derived = find_derived(text, stated, evidence.numbers) if stated else []
    in_english = language(text) == "en"
    for number in stated:
        if number in derived or (not in_english and not number.unit and number.value <= SMALL):
            continue  # small numbers the passage may have in words of its language
        dated = not number.unit and any(number.value == date.year for date in evidence.dates)
        ordinal = text[number.end : number.end + 1].isalpha() and any(
            number.value == ordinal.place for ordinal in evidence.ordinals
        )
        if dated or ordinal or agrees_with_any(number, evidence.numbers):
            continue
        if is_time_between(number, evidence.dates):
            continue
        if not is_computed(number, stated, evidence.numbers, text):
            yield number
    shares = " ".join(number.text for number in stated if number.is_share)
    for number, counted in find_counts(text):
        if number.text in {"one", "hundred", *shares.split()} or counted not in evidence.words:
            continue
        if not agrees_with_any(number, evidence.numbers) and not is_computed(
            number, stated, evidence.numbers, text
        ):
            yield number
