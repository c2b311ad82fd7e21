"""Our sentence, and where its words, values and names stand in the passages that it cites."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.verification.dates import Date, has_date, take_dates
from idea_explorer.domain.verification.index import Index, is_same
from idea_explorer.domain.verification.mentions import Item, Mention, kind_of, read_mentions
from idea_explorer.domain.verification.numbers import Number
from idea_explorer.domain.verification.rivals import is_identifier, is_rival, is_whole
from idea_explorer.domain.verification.statements import Name, Statements, Value, name_value
from idea_explorer.domain.verification.words import content_words

VALUE = 1.5  # what a number or date counts, against a word
TITLE = 0.2  # what a word of the title counts, which is about every statement
MAX_HOLDERS = 10  # statements with a value; what a passage has more often says little
SMALL = 12  # numbers up to it are in every other sentence
MIN_CLAUSE = 2  # words that say what a clause is about
_SPAN = lazy_pattern(r"\d[/–-]\d")  # of years: 2023/24
_CLAUSE = lazy_pattern(
    r"[;|]|\.(?=\s)|—|–(?=\s)|,(?=\s)|\b(?:and|while|whereas|but|und|et|y|mientras|tandis)\b"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A mention in one of the passages."""

    passage: int
    mention: Mention


class CitedWords:
    """`titles` are those of the passages."""

    def __init__(self, text: str, passages: Sequence[Index], titles: Sequence[str]) -> None:
        self.passages = passages
        self._text = Statements(text)
        self._title = {word for title in titles for word in content_words(title)}
        self._title_dates = [date for title in titles for date in take_dates(title)[0]]
        self.mentions = self._read_mentions()
        self.holders = [self._find_holders(mention.value) for mention in self.mentions]
        words = {word for statement in self._text.all for word in statement.words}
        self.forms = {
            word: set[str]().union(*(index.find_forms(word) for index in passages))
            for word in words
            if word[0].isalpha()
        }
        general = set[str]()  # dates that are about every statement
        self.precise: set[str] = set()  # dates, and numbers that are not in every other sentence
        for mention in self.mentions:
            if not isinstance(mention.value, Name):
                word = name_value(mention.value)
                self.forms[word] = {name_value(found) for found in self._find_same(mention.value)}
                is_small = isinstance(mention.value, Number) and mention.value.value <= SMALL
                if isinstance(mention.value, Date) and self.is_exempt(mention.value):
                    general.add(word)
                elif not is_small:
                    self.precise.add(word)
        self.places = {
            word: [{p for form in forms for p in index.places.get(form, ())} for index in passages]
            for word, forms in self.forms.items()
        }
        self.weights = {
            word: weight * TITLE if word in general else weight
            for word in self.forms
            if (weight := self._weigh(word))
        }

    def _read_mentions(self) -> list[Mention]:
        names = self._text.names.union(*(index.text.names for index in self.passages))
        edges = set[str]().union(*(index.text.edges for index in self.passages))
        places = range(len(self._text.all))
        found = [m for place in places for m in read_mentions(self._text, place, names)]
        return [mention for mention in found if not self._is_noun(mention, edges)]

    def _is_noun(self, mention: Mention, edges: set[str]) -> bool:
        """Whether the first word of a sentence only stands within names of the passage: `Tourism`."""
        value = mention.value
        begins = value.start <= self._text.all[mention.place].start + 1
        return (
            isinstance(value, Name)
            and begins
            and " " not in value.text
            and not value.tokens & edges
        )

    def _find_holders(self, value: Item) -> list[Found]:
        """Where the passages have a value or name; nowhere, if they have it so often that it says little."""
        places = [
            (number, place)
            for number, index in enumerate(self.passages)
            for place in self._find_places(index, value)
        ]
        found = [
            Found(number, mention)
            for number, place in places[: MAX_HOLDERS + 1]
            for mention in self.passages[number].read_mentions(place)
            if is_same(value, mention.value)
        ]
        alike = [each for each in found if each.mention.kind == kind_of(value)] or found
        return alike if len(places) <= MAX_HOLDERS and len(alike) <= MAX_HOLDERS else []

    def _find_same(self, value: Value) -> list[Value]:
        found = [same for index in self.passages for _, same in index.find_values(value)]
        return [same for same in found if kind_of(same) == kind_of(value)] or found

    def _find_places(self, index: Index, value: Item) -> list[int]:
        if isinstance(value, Name):
            return index.find_places(value)
        return sorted({place for place, _ in index.find_values(value)})

    def _weigh(self, word: str) -> float:
        """A word says the less, the more statements have it."""
        count = sum(map(len, self.places[word]))
        if not count:
            return 0.0
        weight = (1.0 if word[0].isalpha() else VALUE) / (1 + math.log(count))
        return weight * TITLE if self.is_in_title(self.forms[word]) else weight

    def is_in_title(self, words: set[str]) -> bool:
        return not words.isdisjoint(self._title)

    def is_titled(self, value: Item) -> bool:
        return content_words(value.text) <= self._title

    def is_exempt(self, value: Item) -> bool:
        """Whether nothing else could stand in the place of a value or name."""
        if isinstance(value, Date):
            years = [Date("", index.main_year) for index in self.passages if index.main_year]
            is_span = value.month is None and _SPAN.search(value.text) is not None
            return (
                is_span
                or has_date(value, [*self._title_dates], "")
                or any(name_value(value) == name_value(year) for year in years)
            )
        if isinstance(value, Name):
            return value.text.endswith(("'s", "’s")) or self.is_titled(value)
        return is_identifier(value, self._text.text) or is_whole(value, self._text.text)

    def find_rivals(self, number: int, places: Sequence[set[int]]) -> list[Found]:
        """What may stand instead of a mention in these places of each passage, and nothing that the sentence
        states as well."""
        mention, holders = self.mentions[number], self.holders[number]
        kinds = {mention.kind, *(holder.mention.kind for holder in holders)}
        others = [m.value for n, m in enumerate(self.mentions) if n != number]
        return [
            Found(passage, other)
            for passage, index in enumerate(self.passages)
            for place in sorted(places[passage])
            for other in index.read_mentions(place)
            if other.kind in kinds
            and (mention.is_earlier or not other.is_earlier)
            and not is_same(mention.value, other.value)
            and not any(is_same(value, other.value) for value in others)
            and is_rival(mention.value, self._text.text, other.value, index.text.text, self.forms)
        ]

    def find_clause(self, mention: Mention) -> frozenset[str]:
        """The words of the clause that a value stands in, as far as the next value; what stands before the
        first comma is about the clause after it. A name may be about the whole sentence."""
        statement, value = self._text.all[mention.place], mention.value
        if isinstance(value, Name):
            return statement.words
        others = [v for v in statement.values if type(v) is type(value) and v is not value]
        start = max([statement.start, *(v.end for v in others if v.end <= value.start)])
        end = min([statement.end, *(v.start for v in others if v.start >= value.end)])
        cuts = list(_CLAUSE.finditer(self._text.text, start, end))
        before = [cut.end() for cut in cuts if cut.end() <= value.start]
        after = [cut.start() for cut in cuts if cut.start() >= value.end]
        is_first = start == statement.start and len(before) == 1
        first = before[-1] if before and not is_first else start
        last = after[0] if after else end
        own = {
            word
            for at, word in statement.placed
            if first <= at < last and not value.start <= at < value.end
        }
        if sum(word[0].isalpha() for word in own) < MIN_CLAUSE:
            own = {word for at, word in statement.placed if start <= at < end}
        return mention.words & own
