"""What the index holds of a document, and how documents are ranked by their similarity to an idea.

Takes no model: documents are ranked by the share of the idea's rare words that they are about. A single
shared word is not enough, and only an idea in the same words scores 1.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.documents import parse_document
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.limits import MAX_LOGGED_PATH
from idea_explorer.domain.markdown import remove_markup
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.publication import DOCUMENT, ResearchFolder, hash_idea
from idea_explorer.domain.report_text import find_title, find_verdict
from idea_explorer.domain.search_words import make_storable
from idea_explorer.domain.text import fold, one_line, spell_out_signs

MAX_TERMS = 40  # per document, so that an index of 5,000 documents has 2 MB
MAX_QUERY_TERMS = 60
MAX_LOGGED = 5  # documents in one line; the count says how many there are
MAX_FIELD = 120  # characters of a value that is an id, a date or a word
MAX_RECORDED_IDEA = 500  # characters; the key of the whole idea identifies it
BODY_WEIGHT = 0.5  # a word of the text says less about a document than one of its title
ABOUT_WEIGHT = 0.8  # for a document whose subject is part of a longer idea
MIN_SHARED = 2  # every word is in some document
UNASKED_WEIGHT = 0.2  # the penalty for words of a document that the idea lacks
MIN_SUBJECT = 3  # words: a shorter title is part of too many ideas
MIN_SCORE = 0.3
STEM_LENGTH = 7
MAX_SIMILAR = 5
MAX_CACHED = 20_000  # words, of which most documents have a thousand
MAX_CACHED_LENGTH = 20  # letters: longer words are rare

_WORD = lazy_pattern(r"\w+")
_CJK = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_DATED = lazy_pattern(r"(?:^|/)(\d{4}-\d{2}-\d{2})-[^/]*/")
# a space for what of ASCII is no part of a word
_TO_SPACES = bytes(
    code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)
).ljust(256)
_COMMON = frozenset(
    """
    about above after again all also and any are because been before being below between both but
    can could did does doing down during each few for from further had has have having help
    here how idea into its itself just like make many more most much need new not now off once
    only other our out over own per please same she should some such than that the their them then
    there these they this those through too under until use used using very want was way were
    what when where which while who whom why will with within without would you your
    """.split()
)
# They tell ideas apart, but no text is about them.
_NUMBERS = frozenset(
    "zero one two three four five six seven eight nine ten first second third".split()
)


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
        return frozenset(extract_terms(f"{self.idea} {self.title}"))


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
    """Takes any path and text. Documents that people wrote need no front matter."""
    path, text = make_storable(path), make_storable(text)
    parsed = parse_document(text)
    matter = parsed.matter
    idea = matter.get("idea", "")
    dated = _DATED.search(path)
    return IndexEntry(
        path=path,
        title=find_title(parsed.body, idea or path),
        verdict=find_verdict(parsed.researched),
        date=_field(matter, "date") or (dated.group(1) if dated else None),
        idea=one_line(idea, MAX_RECORDED_IDEA),
        idea_key=hash_idea(idea) if idea else "",
        mode=_field(matter, "mode"),
        status=_field(matter, "status"),
        exploration_id=_field(matter, "exploration_id"),
        is_offline=parsed.is_offline,
        terms=_find_frequent_terms(remove_markup(parsed.body)),
        problem=parsed.problem and f"front matter ignored: {parsed.problem}",
    )


def _field(matter: dict[str, str], name: str) -> str:
    return one_line(matter.get(name, ""), MAX_FIELD)


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


def extract_terms(text: str) -> list[str]:
    """The words a text is about, in order, each once. Numbers count: they tell short texts apart."""
    words = _words(spell_out_signs(text))
    if text.isascii():
        terms = (_CACHE[word] or (word if _is_number(word) else "") for word in words)
        return list(dict.fromkeys(term for term in terms if term))
    return list(dict.fromkeys(term for word in words for term in _find_terms(word)))


def _score(asked: Sequence[str], key: str, entry: IndexEntry, rarity: dict[str, float]) -> float:
    if key == entry.idea_key:
        return 1.0
    body = frozenset(entry.terms)
    shared = [term for term in asked if term in entry.subject or term in body]
    if sum(not _is_number(term) for term in shared) < MIN_SHARED:
        return 0.0
    found = sum(rarity[term] * (1.0 if term in entry.subject else BODY_WEIGHT) for term in shared)
    within = _sum(entry.subject & set(asked), rarity) / (_sum(entry.subject, rarity) or 1.0)
    score = found / (_sum(asked, rarity) or 1.0) * (1 - UNASKED_WEIGHT * (1 - within))
    if len(entry.subject) >= MIN_SUBJECT:
        score = max(score, ABOUT_WEIGHT * within)
    return score


def _sum(terms: Iterable[str], rarity: dict[str, float]) -> float:
    return sum(rarity[term] for term in terms)


def _find_frequent_terms(text: str) -> tuple[str, ...]:
    """The most frequent terms of a text, which is not about its numbers."""
    words = _words(text)
    if text.isascii():
        counted = Counter(map(_CACHE.__getitem__, words))
        del counted[""]
    else:
        counted = Counter(term for word in words for term in _find_text_terms(word))
    # most words occur once, and need not be sorted if enough of them occur more often
    repeated = [item for item in counted.items() if item[1] > 1]
    ranked = repeated if len(repeated) >= MAX_TERMS else counted.items()
    return tuple(t for t, _ in sorted(ranked, key=itemgetter(1), reverse=True)[:MAX_TERMS])


class _TermCache(dict[str, str]):
    """The term of each word of ASCII letters, empty for one that says nothing: documents of one team have
    most of their words in common."""

    def __missing__(self, word: str) -> str:
        term = "".join(_find_text_terms(word))
        if len(self) >= MAX_CACHED:
            self.clear()
        if len(word) <= MAX_CACHED_LENGTH:
            self[word] = term
        return term


_CACHE = _TermCache()


def _words(text: str) -> list[str]:
    folded = fold(text)
    if folded.isascii():
        return folded.encode().translate(_TO_SPACES).decode().split()  # several times as fast
    return _WORD.findall(unicodedata.normalize("NFC", folded))


def _find_text_terms(word: str) -> Sequence[str]:
    return () if _is_number(word) else _find_terms(word)


def _find_terms(word: str) -> Sequence[str]:
    if not word.isascii() and _CJK.search(word):
        # these scripts put no spaces between words, so pairs of characters count as words
        return [word[i : i + 2] for i in range(max(1, len(word) - 1))]
    if _is_number(word):
        return (word,)
    return (_stem(word),) if len(word) >= 3 and word not in _COMMON else ()


def _is_number(word: str) -> bool:
    return word in _NUMBERS or word.isdigit()


def _stem(word: str) -> str:
    """The first letters of the singular, so that subscriber and subscription match."""
    if word.endswith("ies") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif word.endswith(("xes", "ches", "shes", "sses")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        word = word[:-1]
    return word[:STEM_LENGTH]
