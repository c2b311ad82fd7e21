"""The numbers, dates and names of a statement, each with the words that say what it is about."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.dates import Date
from idea_explorer.domain.verification.numbers import Number
from idea_explorer.domain.verification.statements import (
    Name,
    Span,
    Statement,
    Statements,
)
from idea_explorer.domain.verification.words import TOKEN

KINDS = ("", "%", "points", "money", "date", "name")
MAX_SHORT = (
    2  # words of a part that leaves out what the first one says: `Rail carried 34 %, trucks 57 %`
)
MAX_LEAD = 30  # characters before a value
# where the words about one value end and those about the next begin, the strongest first
_SEPARATORS = tuple(
    lazy_pattern(pattern)
    for pattern in (
        r"[;|]|\.(?=\s)|—|–(?=\s)",
        r",(?=\s)",
        r"\b(?:and|while|whereas|versus|against|compared|but|or|(?:up|down) from|und|oder|sowie|gegen)\b"
        r"|\b(?:et|ou|contre|y|frente|mientras|tandis)\b",
        r"\(",
        r":(?=\s)",
    )
)
_HEDGES = r" ?(?:(?:about|around|rund|some|las|los|in|im|en|nearly|just|over|under) ){0,2}\W{0,3}$"
# before what something else is compared with
_EARLIER = lazy_pattern(
    r"(?:\b(?:against|versus|vs|than|gegenuber|contre|frente al?|compared (?:with|to)|(?:up|down) from"
    rf"|als|que|qu['’])|, (?:after|nach)|\((?:19|20)\d\d:){_HEDGES}"
)
_FROM = lazy_pattern(rf"\b(?:from|von|de|desde){_HEDGES}")
_TO = lazy_pattern(r".{0,30}?\b(?:to|auf|a|hasta)\b")
_RESPECTIVELY = lazy_pattern(
    r"\b(?:respectively|jeweils|beziehungsweise|respectivement|respectivamente)\b", re.IGNORECASE
)
_LIST_ITEM = lazy_pattern(r",\s+(?:and\s+|und\s+|et\s+|y\s+)?|\s+(?:and|und|et|y)\s+")
_PREPOSITIONS = frozenset(
    "in at by for from on of among with since after before under over im am bei mit von nach seit ab bis en"
    " dans chez sur depuis pour avec selon desde con para entre".split()
)

Item: TypeAlias = Number | Date | Name


@dataclass(frozen=True, slots=True)
class Mention:
    """A value or name, and the words and values of its part of the statement."""

    kind: str
    value: Item
    words: frozenset[str]
    shared: frozenset[str]  # what the sentence begins with, before the first value of this kind
    place: int  # of its statement in the text
    is_short: bool = False  # it leaves out what the first part says
    is_earlier: bool = False  # what something else is compared with: `up from 12`


def kind_of(value: Item) -> str:
    if isinstance(value, Name):
        return "name"
    return "date" if isinstance(value, Date) else value.unit


def read_mentions(text: Statements, place: int, names: frozenset[str]) -> list[Mention]:
    statement = text.all[place]
    named = text.find_names(statement, names)
    if statement.header:
        return list(_read_row(text, statement, named, place))
    every: list[Item] = [*statement.values, *named]
    mentions: list[Mention] = []
    for kind in KINDS:
        alike = sorted((v for v in every if kind_of(v) == kind), key=lambda v: v.start)
        begin = statement.start
        shared = _words_in(statement, [(begin, alike[0].start)]) if alike else frozenset()
        first: frozenset[str] = frozenset()
        listed = _find_listed(text.text, statement, alike) if kind != "name" else {}
        for value, spans, lead in _find_parts(text.text, statement, alike):
            spans = [listed[value.start]] if value.start in listed else spans
            own = _words_in(statement, spans)
            own |= {word for word in _words_in(statement, [lead]) if word[0].isalpha()}
            first = first or own
            alone = _words_in(statement, spans[:1])
            is_short = sum(word[0].isalpha() for word in alone) <= MAX_SHORT
            is_earlier = not isinstance(value, Name) and _is_earlier(value, text.text)
            around = frozenset(
                word
                for word in (first if is_short and kind != "name" else shared)
                if word[0].isalpha()
            )
            mentions.append(Mention(kind, value, own, around, place, is_short, is_earlier))
    return mentions


def _find_listed(text: str, statement: Statement, alike: Sequence[Item]) -> dict[int, Span]:
    """`A, B and C grew by 1, 2 and 3 respectively`: which item each of the values at the end belongs to."""
    if len(alike) < 2 or not _RESPECTIVELY.search(text, statement.start, statement.end):
        return {}
    run = [alike[-1]]
    for value in reversed(alike[:-1]):
        if not _LIST_ITEM.fullmatch(text, value.end, run[0].start):
            break
        run.insert(0, value)
    begin = max(statement.start, text.rfind(": ", statement.start, run[0].start) + 1)
    items: list[Span] = []
    for cut in [*_LIST_ITEM.finditer(text, begin, run[0].start), None]:
        end = cut.start() if cut else run[0].start
        if _words_in(statement, [(begin, end)]):
            items.append((begin, end))
        begin = cut.end() if cut else end
    found = zip(run, items[: len(run)], strict=False) if len(items) >= len(run) > 1 else ()
    return {value.start: span for value, span in found}


def _words_in(statement: Statement, spans: Sequence[Span]) -> frozenset[str]:
    return frozenset(w for start, end in spans for at, w in statement.placed if start <= at < end)


def _is_earlier(value: Number | Date, text: str) -> bool:
    """A number that something rose from is one; a date that it lasted from is none."""
    before = fold(text[max(0, value.start - MAX_LEAD) : value.start])
    if _EARLIER.search(before):
        return True
    after = fold(text[value.end : value.end + MAX_LEAD])
    is_from = _FROM.search(before) is not None and _TO.match(after) is not None
    return is_from and isinstance(value, Number)


def _find_parts(
    text: str, statement: Statement, alike: Sequence[Item]
) -> Iterator[tuple[Item, list[Span], Span]]:
    """Each value with the parts of the sentence that are about it: those next to it, as far as the value of
    the same kind before and after it; what stands before a colon is about all that follow. A part
    without words of its own, and all after an apposition, are about what the sentence begins with."""
    if not alike:
        return
    several = len(alike) > 1
    begin = statement.start
    start = max(begin, text.rfind(": ", begin, alike[0].start) + 1) if several else begin
    shared = [(begin, start)]
    lead = (start, alike[0].start)
    if several and _is_apposition(text[begin : alike[0].start], text[alike[0].end :][:2]):
        shared.append((start, text.find(",", start)))
    group: list[Item] = []
    around: list[Span] = []
    bracketed: list[Span] = []
    for number, value in enumerate(alike):
        group.append(value)
        is_last = number + 1 == len(alike)
        cut, mark = (
            (statement.end, "") if is_last else _find_cut(text, value.end, alike[number + 1].start)
        )
        if cut is None:
            continue
        if mark == "(":
            cut = _before_last_word(text, value.end, cut)
        own = (start, cut)
        is_bare = not any(start <= at < cut and w[0].isalpha() for at, w in statement.placed)
        spans = [own, *shared, *around, *bracketed]
        yield from ((each, spans, lead if is_bare else (0, 0)) for each in group)
        if mark == ":":
            around.append(own)
        bracketed = [own] if mark == "(" else []
        group, start = [], cut


def _find_cut(text: str, start: int, end: int) -> tuple[int | None, str]:
    """Where the words about a value end, and the sign there."""
    for pattern in _SEPARATORS:
        if found := pattern.search(text, start, end):
            return found.start(), found[0]
    return None, ""


def _before_last_word(text: str, start: int, bracket: int) -> int:
    """What stands in brackets is about the word before them."""
    words = [match.start() for match in TOKEN.finditer(text, start, bracket)]
    return words[-1] if len(words) > 1 else bracket


def _is_apposition(before: str, after: str) -> bool:
    """Whether a value stands between commas after a subject: `The plant, opened in 1974, …`."""
    subject, comma, _ = before.partition(", ")
    is_subject = fold(subject.split(" ")[0]) not in _PREPOSITIONS
    return bool(comma) and is_subject and after == ", "


def _read_row(
    text: Statements, statement: Statement, named: Sequence[Name], place: int
) -> Iterator[Mention]:
    """A cell is about the title of its row and of its column; a name in it, about the whole row."""
    cells = _find_cells(text.text, statement.start, statement.end)
    columns = _find_cells(text.text, *statement.header) if statement.header else []
    row = statement.words
    for number, cell in enumerate(cells):
        column = text.find_words(*columns[number]) if number < len(columns) else frozenset()
        own = _words_in(statement, [cells[0], cell]) | column
        for value in text.find_values(*cell):
            yield Mention(kind_of(value), value, own, frozenset(), place)
        for name in named:
            if cell[0] <= name.start < cell[1]:
                yield Mention("name", name, row, frozenset(), place)


def _find_cells(text: str, start: int, end: int) -> list[Span]:
    cells: list[Span] = []
    at = start + 1 if text[start : start + 1] == "|" else start
    while at < end:
        following = text.find("|", at, end)
        following = end if following < 0 else following
        cells.append((at, following))
        at = following + 1
    return cells
