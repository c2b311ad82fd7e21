"""A text as a list of statements: its sentences, the items of its lists and the rows of its tables."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.dates import MONTHS, Date, take_dates
from idea_explorer.domain.verification.number_words import SCALES, WORDS
from idea_explorer.domain.verification.numbers import (
    CODES,
    Number,
    find_counts,
    find_numbers,
    find_table_scale,
)
from idea_explorer.domain.verification.words import (
    FUNCTION_WORDS,
    TOKEN,
    content_words,
    fold_word,
    language,
)

MAX_STATEMENTS = 5_000  # that are read of a text
MAX_SENTENCE = 2_000  # characters
MAX_SCALED = 1_000_000  # larger numbers are no thousands or millions
MAX_TITLE = 2  # letters: Dr., St., Mr.
_SENTENCE_END = lazy_pattern(r"(?<=[^\d][.!?])\s+(?=[^\sa-z])|(?<=\d\d\d\.)\s+(?=[^\W\d_a-z])")
_AFTER_NUMBER = lazy_pattern(r"(?<=\d\.)\s+(?=[A-Z])")  # in German it may be an ordinal
_MARKER = lazy_pattern(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
NOT = "not"
_NEGATION = lazy_pattern(
    r"not|never|none|nobody|nicht|kein\w{0,3}|nie|pas|aucun\w?|nunca", re.IGNORECASE
)
_JOINS = lazy_pattern(r" | (?:of|de|du|des|del|della|di|da|von|van|der|for|für|&) |[’']s ")

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    tokens: frozenset[str]  # by which it is known
    start: int
    end: int


Value: TypeAlias = Number | Date


@dataclass(frozen=True, slots=True)
class Statement:
    start: int
    end: int
    words: frozenset[str]  # without their endings, and words for values
    placed: tuple[tuple[int, str], ...]  # the same, by where they stand
    capitals: tuple[re.Match[str], ...]
    values: tuple[Value, ...]
    header: Span | None = None  # of the table that it is a row of


def name_value(value: Value) -> str:
    """A word for a number or date."""
    if isinstance(value, Date):
        return f"@{value.year}-{value.month}-{value.day}-{value.quarter}-{value.half}"
    return f"#{value.value.normalize()}{value.unit}"


class Statements:
    """The statements of a text, read once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.dates, self.rest = take_dates(text)
        self.numbers = [*find_numbers(self.rest), *(number for number, _ in find_counts(self.rest))]
        numbers = [n for n in self.numbers if not n.is_share and n.text not in {"one", "hundred"}]
        self.values: list[Value] = sorted([*self.dates, *numbers], key=lambda v: v.start)
        if factor := find_table_scale(text):
            self.values = sorted(
                [*self.values, *_scale(self.values, factor)], key=lambda v: v.start
            )
        self._starts = [value.start for value in self.values]
        self.in_german = language(text[:MAX_SENTENCE]) == "de"
        self._lower: set[str] = set()
        spans = islice(self._spans(), MAX_STATEMENTS)
        self.all = [self._read(start, end, header) for start, end, header in spans]
        self.edges: set[str] = set()  # words that names begin or end with
        self.names = self._find_known_names()

    def _spans(self) -> Iterator[tuple[int, int, Span | None]]:
        header: Span | None = None
        at = 0
        for line in self.text.split("\n"):
            start, at = at, at + len(line) + 1
            if line.count("|") > 1:
                if header is None:
                    header = (start, start + len(line))
                elif line.strip(" |-:"):
                    yield start, start + len(line), header
                continue
            header = None
            if line.strip():
                yield from self._split(start, start + len(line))

    def _split(self, start: int, end: int) -> Iterator[tuple[int, int, None]]:
        if marker := _MARKER.match(self.text, start, end):
            start = marker.end()
        cuts = [(m.start(), m.end()) for m in _SENTENCE_END.finditer(self.text, start, end)]
        if not self.in_german:
            cuts += [(m.start(), m.end()) for m in _AFTER_NUMBER.finditer(self.text, start, end)]
        for cut, following in sorted(set(cuts)):
            if self._is_abbreviation(cut):
                continue
            if cut > start:
                yield start, min(cut, start + MAX_SENTENCE), None
            start = max(start, following)
        if start < end:
            yield start, min(end, start + MAX_SENTENCE), None

    def _is_abbreviation(self, end: int) -> bool:
        """Whether a full stop does not end a sentence: that of `5 Mio. Euro` and `Dr. Okelo`."""
        before = bisect_left(self._starts, end)
        if before and self.values[before - 1].end > end:
            return True
        word = self.text[max(0, end - 5) : end - 1].rpartition(" ")[2]
        return word.istitle() and len(word) <= MAX_TITLE

    def find_values(self, start: int, end: int) -> list[Value]:
        return self.values[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def _read(self, start: int, end: int, header: Span | None) -> Statement:
        values = self.find_values(start, end)
        placed = [(value.start, name_value(value)) for value in values]
        in_words = {value.start for value in values}
        capitals: list[re.Match[str]] = []
        for match in TOKEN.finditer(self.rest, start, end):
            token = match[0]
            if match.start() in in_words:
                continue
            placed += [(match.start(), stem) for stem in find_stems(token)]
            if token[0].islower():
                self._lower.add(fold_word(token))
            elif self._may_be_name(token, match.start()):
                capitals.append(match)
        words = frozenset(word for _, word in placed)
        return Statement(start, end, words, tuple(placed), tuple(capitals), tuple(values), header)

    def _may_be_name(self, token: str, start: int) -> bool:
        """Whether it has a capital and is no unit: `900 MW`."""
        if not token[0].isupper() or len(token) < 2 or is_ordinary(token):
            return False
        return not self.rest[max(0, start - 2) : start].rstrip()[-1:].isdigit()

    def find_words(self, start: int, end: int) -> frozenset[str]:
        values = {name_value(value) for value in self.find_values(start, end)}
        tokens = TOKEN.finditer(self.rest, start, end)
        return frozenset(values.union(*(find_stems(match[0]) for match in tokens)))

    def _find_known_names(self) -> frozenset[str]:
        """The words that are names wherever they stand: those with a capital in the middle of a sentence and
        never without one. In German, where every noun has a capital, those that follow another."""
        found: set[str] = set()
        for statement in self.all:
            for run in self._runs(statement):
                is_first = run[0].start() <= statement.start + 1 or self._opens(run[0].start())
                inner = run[1:] if self.in_german or is_first else run
                self.edges |= {plain_name(run[0][0]), plain_name(run[-1][0])}
                clear = [m for m in run if _has_inner_capital(m[0])]
                found |= {plain_name(match[0]) for match in (*inner, *clear)}
        return frozenset(found - FUNCTION_WORDS - self._lower)

    def _opens(self, at: int) -> bool:
        return self.text[max(0, at - 3) : at].rstrip(' "“„«*_')[-1:] in {":", ".", "!", "?"}

    def _runs(self, statement: Statement) -> Iterator[list[re.Match[str]]]:
        """Words with a capital in a row."""
        run: list[re.Match[str]] = []
        for match in statement.capitals:
            between = self.text[run[-1].end() : match.start()] if run else ""
            if run and between != " " and (self.in_german or not _JOINS.fullmatch(between)):
                yield run
                run = []
            run.append(match)
        if run:
            yield run

    def find_names(self, statement: Statement, known: frozenset[str]) -> list[Name]:
        """Words with a capital in a row, of which one is known to be a name, and what a row is about."""
        found: list[Name] = []
        first_cell = self.text.find("|", statement.start + 1) if statement.header else 0
        for run in self._runs(statement):
            tokens = frozenset(plain_name(match[0]) for match in run)
            is_title = statement.header is not None and run[0].start() < first_cell
            if named := tokens & known or (tokens if is_title else frozenset()):
                start, end = run[0].start(), run[-1].end()
                found.append(Name(self.text[start:end], named, start, end))
        return found


@lru_cache(maxsize=16_384)
def find_stems(token: str) -> tuple[str, ...]:
    """The words of a token, without their endings: of `l'inspection`, only `inspection`."""
    if _NEGATION.fullmatch(token):
        return (NOT,)
    _, elision, word = token.replace("’", "'").rpartition("'")
    return tuple(sorted(content_words(word if elision and len(word) > 1 else token)))


def _scale(values: list[Value], factor: Decimal) -> Iterator[Number]:
    """The numbers of a table that is in thousands or millions."""
    for value in values:
        if isinstance(value, Number) and not value.unit and value.value < MAX_SCALED:
            yield replace(value, value=value.value * factor, step=value.step * factor)


def _has_inner_capital(token: str) -> bool:
    """`TransVel`, `FSA`; but not `Free-Floating-Auto`."""
    return any(char.isupper() for part in token.split("-") for char in part[1:])


def plain_name(token: str) -> str:
    return fold_word(token).removesuffix("'s").removesuffix("’s")


@lru_cache(maxsize=4_096)
def is_ordinary(word: str) -> bool:
    """Whether a word with a capital is none that a name consists of."""
    folded = fold(word)
    is_word = folded in FUNCTION_WORDS and not (word.isupper() and len(word) > 2)
    return is_word or folded in CODES or folded in MONTHS or folded in WORDS or folded in SCALES
