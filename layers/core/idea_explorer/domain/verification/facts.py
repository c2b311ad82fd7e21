"""The numbers and dates of a text, each with the words that say what it is the number or date of."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.dates import Date, take_dates
from idea_explorer.domain.verification.numbers import (
    Number,
    find_counts,
    find_numbers,
    find_table_scale,
)
from idea_explorer.domain.verification.words import TOKEN, content_words, language

# where the words about one value end and those about the next begin, the strongest first
_SEPARATORS = tuple(
    re.compile(pattern)
    for pattern in (
        r"[;|]|\.(?=\s)|—|–(?=\s)",
        r",(?=\s)",
        r"\b(?:and|while|whereas|versus|against|compared|but|or|(?:up|down) from|und|oder|sowie|gegen)\b"
        r"|\b(?:et|ou|contre)\b",
        r"\(",
        r":(?=\s)",
    )
)
_SENTENCE_END = re.compile(r"(?<=[^\d][.!?])\s+(?=[^\sa-z])|(?<=\d\d\d\.)\s+(?=[^\W\d_a-z])")
_AFTER_NUMBER = re.compile(r"(?<=\d\.)\s+(?=[A-Z])")  # in German it may be an ordinal
_MARKER = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+|(?=[^:\n]{1,60}:\s)")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nicht|kein\w{0,3}|pas|aucun\w?)\b", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"[,;:.](?=\s)")
_RESPECTIVELY = re.compile(
    r"\b(?:respectively|jeweils|beziehungsweise|respectivement|respectivamente)\b", re.IGNORECASE
)
_LIST_ITEM = re.compile(r",\s+(?:and\s+|und\s+|et\s+|y\s+)?|\s+(?:and|und|et|y)\s+")
NEGATED = "not"
PREPOSITIONS = frozenset(
    "in at by for from on of among with since after before under over im am bei mit von nach seit ab bis en"
    " dans chez sur depuis pour avec selon desde con para entre".split()
)
HEAD = 1  # words
# what is read of a text, so that the time for it is bounded
MAX_FACTS = 1_000
MAX_SENTENCE = 2_000  # characters
MAX_CELL = 200
MAX_CLAUSE = 200


@dataclass(frozen=True, slots=True)
class Fact:
    value: Number | Date
    label: frozenset[str]
    names: frozenset[str]  # of the label
    head: frozenset[str]  # the first words of the label
    group: int = 0  # the sentence, list or table that it stands in


@dataclass(frozen=True, slots=True)
class _Words:
    label: frozenset[str]
    names: frozenset[str]
    head: frozenset[str]

    def __or__(self, other: "_Words") -> "_Words":
        return _Words(self.label | other.label, self.names | other.names, self.head or other.head)


def read_facts(text: str) -> list[Fact]:
    groups = (group for block in _blocks(text) for group in _read_block(block))
    every = (replace(fact, group=n) for n, group in enumerate(groups) for fact in group)
    facts = list(islice(every, MAX_FACTS))
    if factor := find_table_scale(text):
        plain = [f for f in facts if isinstance(f.value, Number) and not f.value.unit]
        facts += [
            replace(
                f, value=replace(f.value, value=f.value.value * factor, step=f.value.step * factor)
            )
            for f in plain
            if isinstance(f.value, Number)
        ]
    return facts


def _blocks(text: str) -> Iterator[list[str]]:
    """The rows of a table and the items of a list together, any other line by itself."""
    rows: list[str] = []
    kind = ""
    for line in text.split("\n"):
        is_row, is_item = line.count("|") > 1, _MARKER.match(line) is not None
        found = "row" if is_row else "item" if is_item else ""
        if rows and (found != kind or not found):
            yield rows
            rows = []
        rows.append(line)
        kind = found
    if rows:
        yield rows


def _read_block(lines: list[str]) -> Iterator[list[Fact]]:
    """The facts of a table or list; of other text, those of each sentence."""
    if lines[0].count("|") > 1:
        yield list(_read_table(lines))
    elif len(lines) > 1:
        items = [_MARKER.sub("", line, count=1) for line in lines]
        yield [fact for item in items for fact in read_sentence(item[:MAX_SENTENCE])]
    else:
        for sentence in _split(lines[0]):
            is_listed = _RESPECTIVELY.search(sentence)
            yield list(_read_listed(sentence) if is_listed else read_sentence(sentence))


def _split(line: str) -> Iterator[str]:
    in_german = language(line) == "de"
    for sentence in _SENTENCE_END.split(line):
        for part in [sentence] if in_german else _AFTER_NUMBER.split(sentence):
            yield part[:MAX_SENTENCE]


def _read_table(lines: list[str]) -> Iterator[Fact]:
    rows = [[cell[:MAX_CELL] for cell in line.strip().strip("|").split("|")] for line in lines]
    header = rows[0]
    for row in rows[1:]:
        about = read_words(row[0])
        for cell, column in zip(row[1:], header[1:], strict=False):
            for value in _values(cell):
                yield _fact(value, replace(about | read_words(column), names=about.names))


def _read_listed(sentence: str) -> Iterator[Fact]:
    """`A, B and C grew by 1, 2 and 3 respectively`."""
    values = _values(sentence)
    for kind in (Number, Date):
        run = _last_run([value for value in values if isinstance(value, kind)], sentence)
        before = sentence[: run[0].start].rpartition(":")[2] if run else ""
        items = [item for item in _LIST_ITEM.split(before) if content_words(item)]
        if len(run) > 1 and len(items) >= len(run):
            for value, item in zip(run, items[: len(run)], strict=True):
                yield _fact(value, read_words(item))


def _last_run(values: Sequence[Number | Date], sentence: str) -> list[Number | Date]:
    """The values at the end that nothing but commas and `and` parts."""
    run: list[Number | Date] = []
    for value in reversed(values):
        if run and not _LIST_ITEM.fullmatch(sentence[value.end : run[0].start]):
            break
        run.insert(0, value)
    return run


def read_sentence(sentence: str) -> Iterator[Fact]:
    """A value has the words next to it, as far as the value of the same kind before and after it; what
    stands before a colon is about all that follow. A clause without words of its own, and all after
    an apposition, are about what the sentence begins with."""
    values = _values(sentence)
    for kind in ("", "%", "points", "money", "date"):
        alike = sorted((v for v in values if kind_of(v) == kind), key=lambda v: v.start)
        prefix = sentence.rfind(": ", 0, alike[0].start) + 1 if len(alike) > 1 else 0
        shared = read_words(sentence[:prefix])
        lead = sentence[prefix : alike[0].start] if alike else ""
        if len(alike) > 1 and _is_apposition(sentence, alike[0]):
            shared |= read_words(lead.partition(",")[0])
        for value, own, around in _segments(sentence, prefix, alike):
            is_bare = not content_words(take_dates(own)[1])
            words = read_words(f"{own} {lead}" if is_bare else own) | read_words(around) | shared
            yield _fact(value, words, is_negated=_is_negated(value, sentence))


def _is_apposition(sentence: str, value: Number | Date) -> bool:
    """Whether a value stands between commas after a subject: `The plant, opened in 1974, …`."""
    subject, comma, _ = sentence[: value.start].partition(", ")
    is_subject = fold(subject.split(" ")[0]) not in PREPOSITIONS
    return bool(comma) and is_subject and sentence[value.end : value.end + 2] == ", "


def _segments(
    sentence: str, start: int, values: Sequence[Number | Date]
) -> Iterator[tuple[Number | Date, str, str]]:
    """Each value with the words about it, and those about a value that it is a part of."""
    group: list[Number | Date] = []
    whole = bracketed = ""
    for number, value in enumerate(values):
        group.append(value)
        is_last = number + 1 == len(values)
        cut, mark = (
            (len(sentence), "")
            if is_last
            else _find_cut(sentence, value.end, values[number + 1].start)
        )
        if cut is None:
            continue
        part = sentence[start:cut]
        yield from ((each, part, f"{whole} {bracketed}") for each in group)
        whole = f"{whole} {part}" if mark == ":" else whole
        group, start, bracketed = [], cut, part if mark == "(" else ""


def _find_cut(sentence: str, start: int, end: int) -> tuple[int | None, str]:
    """Where the words about a value end, and the sign there."""
    for pattern in _SEPARATORS:
        if found := pattern.search(sentence, start, end):
            return found.start(), found[0]
    return None, ""


def _values(text: str) -> list[Number | Date]:
    dates, rest = take_dates(text)
    numbers = [number for number in find_numbers(rest) if not number.is_share]
    counts = [number for number, _ in find_counts(rest) if number.text not in {"one", "hundred"}]
    return [*dates, *numbers, *counts]


def kind_of(value: Number | Date) -> str:
    return "date" if isinstance(value, Date) else value.unit


def _is_negated(value: Number | Date, sentence: str) -> bool:
    """Whether there is a `not` between the commas around a value."""
    before = _CLAUSE_END.split(sentence[max(0, value.start - MAX_CLAUSE) : value.start])[-1]
    after = _CLAUSE_END.split(sentence[value.end : value.end + MAX_CLAUSE])[0]
    return _NEGATION.search(f"{before} {after}") is not None


def _fact(value: Number | Date, words: _Words, *, is_negated: bool = False) -> Fact:
    own = name_date(value) if isinstance(value, Date) else set()
    label = words.label - own | ({NEGATED} if is_negated else set())
    return Fact(value, label, words.names, words.head)


def read_words(text: str) -> _Words:
    dates, text = take_dates(text)
    label = content_words(text) | {name for date in dates for name in name_date(date)}
    capitals = [found[0] for found in TOKEN.finditer(text) if found[0][0].isupper()]
    names = {word for token in capitals for word in content_words(fold(token))}
    ordered = [word for found in TOKEN.finditer(text) for word in content_words(found[0])]
    return _Words(frozenset(label), frozenset(names), frozenset(ordered[:HEAD]))


def name_date(date: Date) -> set[str]:
    """A word for a date, and one for its year."""
    return {f"{date.year}-{date.month}-{date.quarter}", f"{date.year}-None-None"}
