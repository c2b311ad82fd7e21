"""The statements of a passage, by the words, numbers, dates and names that they have."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from functools import cached_property

from idea_explorer.domain.verification.dates import Date, has_date
from idea_explorer.domain.verification.mentions import Item, Mention, read_mentions
from idea_explorer.domain.verification.numbers import Number, agrees_with_any
from idea_explorer.domain.verification.statements import Name, Statements

MIN_PREFIX = 5  # letters that two forms of a word share
MIN_COMMON = 0.65  # of the shorter one
MIN_WORD = 4  # letters of a word of which another one is a longer form
MAX_ENDING = 3  # letters
KEY = 4  # letters by which forms are looked up
# how far a number may lie from one that says the same
LEAST, MOST = 0.8, 1.25


class Index:
    """A passage, read once."""

    def __init__(self, text: str) -> None:
        self.text = Statements(text)
        self.places: dict[str, list[int]] = defaultdict(list)
        for place, statement in enumerate(self.text.all):
            for word in statement.words:
                self.places[word].append(place)
        self._by_prefix: dict[str, list[str]] = defaultdict(list)
        self._by_suffix: dict[str, list[str]] = defaultdict(list)
        for word in self.places:
            if word[0].isalpha():
                self._by_prefix[word[:KEY]].append(word)
                self._by_suffix[word[-KEY:]].append(word)
        self._mentions: dict[int, list[Mention]] = {}

    def read_mentions(self, place: int) -> list[Mention]:
        if place not in self._mentions:
            self._mentions[place] = read_mentions(self.text, place, self.text.names)
        return self._mentions[place]

    def find_forms(self, word: str) -> set[str]:
        """The words of the passage that are forms of ours, or that either is a compound with."""
        found = {other for other in self._by_prefix.get(word[:KEY], ()) if is_form(word, other)}
        for other in self._by_suffix.get(word[-KEY:], ()):
            shorter = min(len(word), len(other))
            if shorter >= MIN_PREFIX and (word.endswith(other) or other.endswith(word)):
                found.add(other)
        return found

    def find_values(self, value: Number | Date) -> list[tuple[int, Number | Date]]:
        """The values that say the same, each with the statement that it stands in."""
        if isinstance(value, Number):
            most = bisect_right(self._amounts, float(value.value) * MOST)
            least = bisect_left(self._amounts, float(value.value) * LEAST)
            found = self._numbers[least:most]
        else:
            years = [*self._years] if value.year is None else [value.year, None]
            found = [pair for year in years for pair in self._years.get(year, ())]
        return [(place, other) for place, other in found if is_same(value, other)]

    def find_places(self, name: Name) -> list[int]:
        """The statements that may have a name, in their order."""
        keys = {token[:KEY] for token in name.tokens}
        return sorted({place for key in keys for place in self._names.get(key, ())})

    @cached_property
    def main_year(self) -> int | None:
        """The year that a passage is about, if it names one more often than any other."""
        years = Counter(date.year for date in self._dates if date.year)
        return next((year for year, count in years.most_common(1) if count > 1), None)

    @cached_property
    def _dates(self) -> list[Date]:
        return [value for value in self.text.values if isinstance(value, Date)]

    @cached_property
    def _numbers(self) -> list[tuple[int, Number | Date]]:
        """By their size."""
        numbers = [(p, v) for p, v in self._values if isinstance(v, Number)]
        return [*sorted(numbers, key=lambda pair: pair[1].value)]

    @cached_property
    def _amounts(self) -> list[float]:
        return [float(value.value) for _, value in self._numbers if isinstance(value, Number)]

    @cached_property
    def _years(self) -> dict[int | None, list[tuple[int, Number | Date]]]:
        found: dict[int | None, list[tuple[int, Number | Date]]] = defaultdict(list)
        for place, value in self._values:
            if isinstance(value, Date):
                found[value.year].append((place, value))
        return found

    @cached_property
    def _values(self) -> list[tuple[int, Number | Date]]:
        return [(place, v) for place, each in enumerate(self.text.all) for v in each.values]

    @cached_property
    def _names(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for place, statement in enumerate(self.text.all):
            for name in self.text.find_names(statement, self.text.names):
                for token in name.tokens:
                    found[token[:KEY]].append(place)
        return found


def is_form(one: str, other: str) -> bool:
    """Whether two words begin alike: president, presidency."""
    if one == other:
        return True
    shorter = min(len(one), len(other))
    common = 0
    while common < shorter and one[common] == other[common]:
        common += 1
    if common == shorter >= MIN_WORD and abs(len(one) - len(other)) <= MAX_ENDING:
        return True
    return common >= max(MIN_PREFIX, MIN_COMMON * shorter)


def is_same(stated: Item, found: Item) -> bool:
    if isinstance(stated, Number) and isinstance(found, Number):
        return agrees_with_any(stated, [found])
    if isinstance(stated, Date) and isinstance(found, Date):
        return has_date(stated, [found], "")
    if isinstance(stated, Name) and isinstance(found, Name):
        return any(is_form(one, other) for one in stated.tokens for other in found.tokens)
    return False
