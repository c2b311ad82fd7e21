"""Which words with a capital a passage has, by the words around them."""

from collections import defaultdict
from functools import cached_property

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.verification.words import TOKEN, fold_word

NAME = r"[A-ZÀ-Þ][\w&'’.-]{1,40}(?: [A-ZÀ-Þ][\w&'’.-]{1,40}){0,3}"
_AGENT = lazy_pattern(rf"\b(\w{{2,20}}) (?:by|par|durch) ({NAME})")


class Contexts:
    """A passage, read once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.between: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.after: dict[tuple[str, ...], set[str]] = defaultdict(set)
        tokens = [match[0] for match in TOKEN.finditer(text)]
        folded = [fold_word(token) for token in tokens]
        self.words = set(folded)
        for place in range(2, len(tokens)):
            if tokens[place][0].isupper():
                following = folded[place + 1] if place + 1 < len(folded) else ""
                self.between[folded[place - 1], following].add(folded[place])
                self.after[folded[place - 2], folded[place - 1]].add(folded[place])

    @cached_property
    def agents(self) -> dict[str, list[str]]:
        """Who did it, by what was done: `led by …`."""
        found: dict[str, list[str]] = defaultdict(list)
        for match in _AGENT.finditer(self._text):
            found[fold_word(match[1])].append(match[2])
        return found
