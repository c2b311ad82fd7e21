"""Embeddings without a model: texts as the moods, themes and moments that their words name.

A hand-made lexicon instead of learned weights: it is small, needs no download, and returns nothing for a
text that it does not understand. It knows English only, and only what songs are about.
"""

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import resources
from itertools import islice
from typing import Literal

from idea_explorer.ports.music import Vector

NEARNESS = 0.35  # how much of a concept carries over to its neighbours
FLOOR = 0.3  # about one concept in common among three
_MIN_PREFIX = 3
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?", re.UNICODE)
_CONCEPT = re.compile(
    r"^(?P<name>\w+) \((?P<near>[\w ]+)\)\n(?P<words>(?:    .+\n)+)", re.MULTILINE
)


class LexiconEmbedder:
    """One dimension per concept. A text with none of their words becomes a vector of zeros."""

    name = "lexicon-1"
    floor = FLOOR

    def __init__(self) -> None:
        concepts = _lexicon()
        places = {name: place for place, (name, _, _) in enumerate(concepts)}
        self._near = [[places[near] for near in nears] for _, nears, _ in concepts]
        self._whole: dict[str, list[int]] = {}
        self._begin: dict[str, list[int]] = {}
        for place, (_, _, words) in enumerate(concepts):
            for word in words:
                entries = self._begin if word.endswith("*") else self._whole
                entries.setdefault(word.rstrip("*"), []).append(place)
        # a hyphen in the lexicon joins words that have the meaning only together
        self._phrase_starts = {entry.split("-")[0] for entry in self._whole if "-" in entry}
        self._longest = max(entry.count("-") for entry in self._whole) + 1
        self._concepts_of = lru_cache(maxsize=65_536)(self._look_up)

    @property
    def dimensions(self) -> int:
        return len(self._near)

    def embed(
        self,
        texts: Sequence[str],
        purpose: Literal["document", "query"],
    ) -> Sequence[Vector]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        said = [0.0] * self.dimensions
        for concepts in self._mentions(text):
            # an ambiguous word counts less for each of its concepts
            weight = 1 / math.sqrt(len(concepts))
            for concept in concepts:
                said[concept] += weight
        meant = list(said)
        for concept, weight in enumerate(said):
            for near in self._near[concept] if weight else ():
                meant[near] += NEARNESS * weight
        length = math.sqrt(sum(weight * weight for weight in meant))
        return array("f", (weight / length for weight in meant) if length else meant)

    def _mentions(self, text: str) -> Iterator[tuple[int, ...]]:
        words = _WORD.findall(text.lower().replace("’", "'"))
        for start, word in enumerate(words):
            if concepts := self._concepts_of(word):
                yield concepts
            if word in self._phrase_starts:
                for length in range(2, self._longest + 1):
                    phrase = "-".join(islice(words, start, start + length))
                    if found := self._whole.get(phrase):
                        yield tuple(found)

    def _look_up(self, word: str) -> tuple[int, ...]:
        found = set(self._whole.get(word, ()))
        for length in range(_MIN_PREFIX, len(word) + 1):
            found.update(self._begin.get(word[:length], ()))
        return tuple(sorted(found))


def _lexicon() -> list[tuple[str, list[str], list[str]]]:
    """Name, neighbours and words of every concept."""
    text = (resources.files(__package__) / "lexicon.txt").read_text("utf-8")
    return [
        (concept["name"], concept["near"].split(), concept["words"].split())
        for concept in _CONCEPT.finditer(text)
    ]
