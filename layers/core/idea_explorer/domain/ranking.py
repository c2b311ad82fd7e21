"""How a search over tracks decides: which words count, what is too far off, how two rankings become one."""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from idea_explorer.domain.music import plain

MAX_TERMS = 32  # a longer query ranks no better and takes longer
DEPTH = 100  # how far down each ranking is read: twice the longest answer
RANK_SMOOTHING = (
    60  # the usual constant of reciprocal rank fusion: top ranks count, none decides alone
)
MIN_COVERAGE = 0.25  # a track that shares fewer of the words shares them by accident

_WORD = re.compile(r"\w+", re.UNICODE)
# function words, and what every document of a music index is about anyway
_IGNORED = frozenset(
    _WORD.findall(
        "a about after all also am an and any are as at be because been before being but by can"
        " could d did do does doing don for from had has have having he her here hers him his"
        " how i if in into is it its just ll m me more most my no nor not of off on once only or"
        " other our out over own re s same she should so some something somebody someone such t"
        " than that the their them then there these they this those through to too under until"
        " up us ve very was we were what when where which while who whom why will with would you"
        " your yours give find get like listen make play please put show want music playlist"
        " playlists song songs track tracks tune tunes"
    )
)
_MIN_STEM = 4
_MAX_SUFFIX = 3

K = TypeVar("K", bound=Hashable)


def content_words(query: str) -> list[str]:
    """The words that say something, each once. Any text is a valid query."""
    words = dict.fromkeys(_WORD.findall(plain(query)))
    return [word for word in words if word not in _IGNORED][:MAX_TERMS]


def covers(words: Sequence[str]) -> Callable[[str], bool]:
    """Whether a text holds enough of the words, in one form or another."""
    if not words:
        return lambda _: False
    stems = {word[: max(_MIN_STEM, len(word) - _MAX_SUFFIX)] for word in words}
    pattern = re.compile(r"\b(?:" + "|".join(sorted(stems, key=len, reverse=True)) + ")")
    needed = MIN_COVERAGE * len(stems)
    return lambda text: len(set(pattern.findall(plain(text)))) >= needed


def fused(rankings: Iterable[Sequence[K]]) -> list[tuple[K, float]]:
    """Reciprocal rank fusion: best first, scores between 0 and 1, where 1 is first in every ranking."""
    lists = list(rankings)
    scores: dict[K, float] = {}
    for ranking in lists:
        for rank, key in enumerate(ranking):
            scores[key] = scores.get(key, 0.0) + (RANK_SMOOTHING + 1) / (RANK_SMOOTHING + 1 + rank)
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    return [(key, round(score / len(lists), 4)) for key, score in ordered]
