"""What a sentence states that none of its passages has."""

from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.alignment import find_displaced
from idea_explorer.domain.verification.dates import has_date, take_dates
from idea_explorer.domain.verification.evidence import Evidence, wrong_numbers
from idea_explorer.domain.verification.mentions import Item
from idea_explorer.domain.verification.names import find_following_names, find_names, has_name
from idea_explorer.domain.verification.numbers import Number
from idea_explorer.domain.verification.ordinals import find_other_ordinals
from idea_explorer.domain.verification.statements import Name
from idea_explorer.domain.verification.substitution import (
    find_other_agent,
    find_other_word,
    find_unknown_subject,
    is_compound,
)
from idea_explorer.domain.verification.words import language, plain_text, quotable

Kind: TypeAlias = Literal["number", "date", "name", "quotation"]

MAX_SENTENCE = 2_000  # characters that are read of a sentence
_QUOTE = lazy_pattern(r"[“\"„«]([^“”\"„«»]{8,600})[”\"“»]")


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something that stands in a sentence and in none of its passages, or there with something else."""

    kind: Kind
    text: str
    is_elsewhere: bool = False  # a passage has it, but about something else

    @property
    def is_absent(self) -> bool:
        """Whether no passage has it. That a name has another form there is for a model to say."""
        return self.kind != "name" and not self.is_elsewhere


def find_unsupported(sentence: str, evidence: Evidence) -> list[Unsupported]:
    """Everything in the sentence that its evidence does not have; empty if a rule finds no fault."""
    text = plain_text(sentence[:MAX_SENTENCE])
    dates, rest = take_dates(text)
    names = find_names(text, evidence.text)
    found = [Unsupported("number", number.text) for number in wrong_numbers(rest, evidence)]
    found += [
        Unsupported("number", name) for name in find_other_ordinals(rest, lambda: evidence.ordinals)
    ]
    found += [
        Unsupported("date", date.text)
        for date in dates
        if not has_date(date, evidence.dates, evidence.text)
    ]
    found += [
        Unsupported("name", name)
        for name in names
        if not has_name(name, evidence.words, evidence.initials)
    ]
    if not found and language(text, language(evidence.text)) == "de":
        found += [Unsupported("name", name) for name in _unknown_names(text, evidence)]
    if not found:
        found += [Unsupported("name", word) for word in find_other_word(text, evidence.contexts)]
    if not found and (
        name := find_unknown_subject(text, evidence.passages)
        or find_other_agent(text, evidence.contexts)
    ):
        found.append(Unsupported("name", name))
    if not found:
        displaced = find_displaced(text, evidence.passages, evidence.titles)
        found += [
            Unsupported(_kind_of(value), value.text, is_elsewhere=True)
            for value in islice(displaced, 1)
        ]
    found += [
        Unsupported("quotation", match[1].strip())
        for match in _QUOTE.finditer(text)
        if len(match[1].split()) >= 3 and not _has_quote(match[1], evidence)
    ]
    return found


def _unknown_names(text: str, evidence: Evidence) -> list[str]:
    return [
        name
        for name in find_following_names(text)
        if not has_name(name, evidence.words, evidence.initials)
        and not is_compound(fold(name), evidence.words)
    ]


def _kind_of(value: Item) -> Kind:
    if isinstance(value, Name):
        return "name"
    return "number" if isinstance(value, Number) else "date"


def _has_quote(quote: str, evidence: Evidence) -> bool:
    parts = [part.strip(" .,;:") for part in quotable(quote).replace("...", "…").split("…")]
    return all(part in evidence.quotable for part in parts)
