"""Values and names that a passage has, but where it is about something else than our sentence.

Each of them is compared with the others of its kind in the passage. If words of our sentence stand with
another one, and none with this one alone, ours is taken to be mistaken.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from idea_explorer.domain.verification.cited_words import CitedWords, Found
from idea_explorer.domain.verification.index import Index, is_form
from idea_explorer.domain.verification.mentions import Item
from idea_explorer.domain.verification.statements import Name, name_value

# how much a word that we share with a passage belongs to a value there
IN_PART = 1.0
LEAD = 0.95  # if its sentence begins with it
IN_STATEMENT = 0.4
IN_STATEMENT_OF_NAME = 0.8
NEARBY = 0.15  # if it is in the statement before
# what it counts
ELSEWHERE = 0.25  # if it stands in another clause of our sentence
ALONE = 6.0  # if it belongs to ours, and not to the other
EARLIER = 0.6  # that the passage only compares ours with the other
MAX_GAIN = 2.0
MARGIN = 0.3
NAME_MARGIN = 0.7
FAR = 0.3  # more, if they are in different statements
# so that the time is bounded
MAX_PLACES = 40  # statements that are read for what else may be meant
MAX_RIVALS = 40

Shares: TypeAlias = dict[str, float]  # how much each word of ours belongs to a value


def find_displaced(text: str, passages: Sequence[Index], titles: Sequence[str]) -> Iterator[Item]:
    """`titles` are those of the passages."""
    words = CitedWords(text, passages, titles)
    for number, mention in enumerate(words.mentions):
        is_held = bool(words.holders[number]) and not words.is_exempt(mention.value)
        if is_held and _Comparison(words, number).is_displaced():
            yield mention.value


class _Comparison:
    """One value or name of our sentence, compared with others of the passages."""

    def __init__(self, words: CitedWords, number: int) -> None:
        self._words = words
        self._number = number
        self._mention = words.mentions[number]
        self._is_name = isinstance(self._mention.value, Name)
        self._clause = words.find_clause(self._mention)
        own = self._find_own_words()
        self._weights = {word: w for word, w in words.weights.items() if word not in own}

    def _find_own_words(self) -> set[str]:
        value = self._mention.value
        if isinstance(value, Name):
            weights = self._words.weights
            return {word for word in weights if any(is_form(word, t) for t in value.tokens)}
        return {name_value(value)}

    def is_displaced(self) -> bool:
        holders = self._words.holders[self._number]
        rivals = self._choose_rivals(holders)
        return bool(rivals) and all(self._is_beaten(holder, rivals) for holder in holders)

    def _is_beaten(self, holder: Found, rivals: Sequence[Found]) -> bool:
        margin = NAME_MARGIN if self._is_name else MARGIN
        shared = self._share(holder, shares=True)
        alone = self._share(holder) if self._is_about_else(holder) else shared
        return any(
            self._gain(rival, alone)
            - self._lose(shared, rival)
            + self._compare_roles(holder, rival)
            > (margin if _are_together(holder, rival) else margin + FAR)
            for rival in rivals
        )

    def _is_about_else(self, holder: Found) -> bool:
        """Whether the part that a value stands in has words that our sentence has not."""
        ours = set[str]().union(*self._words.forms.values())
        own = holder.mention.words - holder.mention.shared - ours
        return any(word[0].isalpha() for word in own)

    def _choose_rivals(self, holders: Sequence[Found]) -> list[Found]:
        """Those with the most words of ours. One for a name needs every value that stands with the name, and
        one that the title has, a value more."""
        rivals = self._words.find_rivals(self._number, self._find_places(holders))
        shares = [(rival, self._share(rival)) for rival in rivals]
        if self._is_name:
            precise = self._words.precise
            held = {word for h in holders for word in self._share(h) if word in precise}
            shares = [
                (rival, share)
                for rival, share in shares
                if held <= share.keys()
                and (
                    not self._words.is_titled(rival.mention.value)
                    or (share.keys() & precise) - held
                )
            ]
        best = sorted(shares, key=lambda pair: -sum(self._count(w, s) for w, s in pair[1].items()))
        return [rival for rival, _ in best[:MAX_RIVALS]]

    def _find_places(self, holders: Sequence[Found]) -> list[set[int]]:
        """The statements of each passage that have most of our words, and those of the holders."""
        found: list[set[int]] = []
        for number in range(len(self._words.passages)):
            counts: dict[int, float] = {}
            for word in self._weights:
                count = self._count(word, IN_PART)
                for place in self._words.places[word][number]:
                    counts[place] = counts.get(place, 0.0) + count
            best = sorted(counts, key=lambda place: (-counts[place], place))[:MAX_PLACES]
            held = {holder.mention.place for holder in holders if holder.passage == number}
            found.append({*best, *held})
        return found

    def _count(self, word: str, share: float) -> float:
        return self._weights[word] * share * (1.0 if word in self._clause else ELSEWHERE)

    def _share(self, found: Found, *, shares: bool = False) -> Shares:
        """With `shares`, also what other parts of the sentence and the one before it say about a value."""
        statements = self._words.passages[found.passage].text.all
        mention = found.mention
        whole = statements[mention.place].words
        before = statements[mention.place - 1].words if mention.place else frozenset[str]()
        result: Shares = {}
        for word in self._weights:
            forms = self._words.forms[word]
            if not forms.isdisjoint(mention.words):
                result[word] = IN_PART
            elif not forms.isdisjoint(whole):
                if shares and not forms.isdisjoint(mention.shared):
                    result[word] = IN_PART if mention.is_short else LEAD
                elif self._is_name and word[0].isalpha():
                    result[word] = IN_STATEMENT_OF_NAME
                else:
                    result[word] = IN_STATEMENT
            elif shares and not forms.isdisjoint(before):
                result[word] = NEARBY
        return result

    def _gain(self, rival: Found, held: Shares) -> float:
        """What speaks for the rival and not for the holder."""
        shares = self._share(rival).items()
        gains = (self._count(word, max(0.0, s - held.get(word, 0.0))) for word, s in shares)
        return min(MAX_GAIN, sum(gains))

    def _lose(self, held: Shares, rival: Found) -> float:
        """What speaks for the holder and not for the rival."""
        shares = self._share(rival, shares=True)
        total = 0.0
        for word, share in held.items():
            more = share - shares.get(word, 0.0)
            if more > 0 and share == IN_PART and word in self._mention.words:
                total += ALONE * self._weights[word] * more
            elif more > 0:
                total += self._count(word, more)
        return total

    def _compare_roles(self, holder: Found, rival: Found) -> float:
        is_compared = holder.mention.is_earlier and not self._mention.is_earlier
        return EARLIER if is_compared and _are_together(holder, rival) else 0.0


def _are_together(one: Found, other: Found) -> bool:
    return (one.passage, one.mention.place) == (other.passage, other.mention.place)
