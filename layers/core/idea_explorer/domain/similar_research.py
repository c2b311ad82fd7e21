"""What the index holds of a document, and how documents are ranked by their similarity to an idea.

Takes no model: documents are ranked by the share of the idea's rare words that they are about. A single
shared word is not enough, and only an idea in the same words scores 1.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.document_fields import extract_subject, read_fields
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.limits import MAX_LOGGED_PATH
from idea_explorer.domain.publication import DOCUMENT, ResearchFolder
from idea_explorer.domain.terms import extract_terms, is_number
from idea_explorer.domain.text import hash_idea

MAX_QUERY_TERMS = 60
MAX_LOGGED = 5  # documents in one line; the count says how many there are
BODY_WEIGHT = 0.5  # a word of the text says less about a document than one of its title
ABOUT_WEIGHT = 0.8  # for a document whose subject is part of a longer idea
MIN_SHARED = 2  # every word is in some document
UNASKED_WEIGHT = 0.2  # the penalty for words of a document that the idea lacks
MIN_SUBJECT = 3  # words: a shorter title is part of too many ideas
MIN_SCORE = 0.3
MAX_SIMILAR = 5


class IndexEntry(DomainModel, frozen=True):
    """One document of the repository. Its texts were written by a model or by people: data."""

    path: str
    title: str
    verdict: str | None = None
    date: str | None = None
    idea: str = ""
    idea_key: str = ""
    mode: str = ""
    status: str = ""
    exploration_id: str = ""
    is_offline: bool = False  # only the offline model wrote it
    terms: tuple[str, ...] = ()
    problem: str = ""  # what of the document could not be read

    @cached_property
    def subject(self) -> frozenset[str]:
        return frozenset(extract_subject(self.idea, self.title))


class Similar(DomainModel, frozen=True):
    """`idea` is empty for a document that people wrote: no update finds it."""

    path: str
    title: str
    idea: str = ""
    verdict: str | None
    date: str | None
    score: float


def describe_problems(count: int, first: Iterable[IndexEntry]) -> JsonObject:
    """How many documents there are of which something could not be read, and what of the first of them, for
    one line of the log; empty if there are none."""
    named = [f"{entry.path[:MAX_LOGGED_PATH]}: {entry.problem}" for entry in first]
    return {"count": count, "documents": [*named[:MAX_LOGGED]]} if count else {}


def index_document(path: str, text: str) -> IndexEntry:
    """Takes any path and text."""
    return IndexEntry(**read_fields(path, text))


def rank_similar(
    idea: str, candidates: Sequence[IndexEntry], total: int, known: Mapping[str, int]
) -> list[Similar]:
    """The most similar of some documents, best first. `known` says how many of all `total` documents have
    a term of the idea or of a candidate's subject."""
    asked, key = extract_query(idea), hash_idea(idea)
    terms = {*asked, *(term for entry in candidates for term in entry.subject)}
    rarity = {term: weigh(known.get(term, 0), total) for term in terms}
    scored = ((_score(asked, key, entry, rarity), entry) for entry in candidates)
    near = sorted(
        ((score, entry) for score, entry in scored if score >= MIN_SCORE),
        key=lambda pair: (-pair[0], pair[1].path),
    )
    return [
        Similar(
            path=entry.path,
            title=entry.title,
            idea=entry.idea,
            verdict=entry.verdict,
            date=entry.date,
            score=round(score, 3),
        )
        for score, entry in near[:MAX_SIMILAR]
    ]


def weigh(documents: int, total: int) -> float:
    """The weight of a term that so many of all documents have: the fewer, the more it says."""
    return math.log(1 + (total - documents + 0.5) / (documents + 0.5))


def find_newest(paths: Iterable[str]) -> str | None:
    """The newest of the documents that explorations published."""
    published = [path for path in paths if path.endswith(f"/{DOCUMENT}")]
    return max(published, key=lambda path: ResearchFolder.of(path).sequence, default=None)


def extract_query(idea: str) -> list[str]:
    """The terms of an idea that documents are compared with."""
    return extract_terms(idea)[:MAX_QUERY_TERMS]


def _score(asked: Sequence[str], key: str, entry: IndexEntry, rarity: dict[str, float]) -> float:
    if key == entry.idea_key:
        return 1.0
    body = frozenset(entry.terms)
    shared = [term for term in asked if term in entry.subject or term in body]
    if sum(not is_number(term) for term in shared) < MIN_SHARED:
        return 0.0
    found = sum(rarity[term] * (1.0 if term in entry.subject else BODY_WEIGHT) for term in shared)
    within = _sum(entry.subject & set(asked), rarity) / (_sum(entry.subject, rarity) or 1.0)
    score = found / (_sum(asked, rarity) or 1.0) * (1 - UNASKED_WEIGHT * (1 - within))
    if len(entry.subject) >= MIN_SUBJECT:
        score = max(score, ABOUT_WEIGHT * within)
    return score


def _sum(terms: Iterable[str], rarity: dict[str, float]) -> float:
    return sum(rarity[term] for term in terms)
