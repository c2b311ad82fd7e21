"""Dates of a sentence and of a passage, and whether one covers the other."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.ordinals import ORDINALS

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero",
            "february feb februar fevrier febrero",
            "march mar marz mars marzo",
            "april apr avril abril",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug aout agosto",
            "september sep sept septembre septiembre",
            "october oct oktober okt octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember dez decembre diciembre",
        ),
        start=1,
    )
    for name in names.split()
}
QUARTERS = {name: place for name, place in ORDINALS.items() if place <= 4} | {"final": 4, "last": 4}
HALVES = {name: place for name, place in ORDINALS.items() if place <= 2}
AMBIGUOUS = frozenset("may march mar mars mai".split())  # words as well as months
MAX_LEAD = 16  # characters before a date in which a range begins
_YEAR_BEFORE = lazy_pattern(
    r"previous year|year (?:earlier|before)|last year|a year (?:ago|on)|vorjahr|annee precedente|ano anterior"
)

_ANY_MONTH = "|".join(
    sorted({*MONTHS, "märz", "août", "février", "décembre"}, key=len, reverse=True)
)
# after a short form, as in `Sept. 11`; after a whole name it ends the sentence
_STOP = r"(?:(?:(?<=\b[a-z]{3})(?<!ma[iy])|(?<=\bsept))\.)?"
_ISO = lazy_pattern(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_DAY_FIRST = lazy_pattern(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th|er|\.)? (?:of |de )?({_ANY_MONTH})\b{_STOP},?"
    r"(?: (?:de )?((?:19|20)\d\d))?",
    re.IGNORECASE,
)
# the first day of a range: `4 to 19 March`, `vom 4. bis 29. März`, `du 11 au 20 juillet`
_DAY_BEFORE = lazy_pattern(
    r"\b(\d{1,2})\.?(?:st|nd|rd|th)?"
    r"(?: ?[–-] ?| (?:to|and|or|bis|und|oder|au|et|ou|al|y|e) (?:dem |zum |le |el )?)$"
)
_MONTH_FIRST = lazy_pattern(
    rf"\b(?=[adefjmnos])({_ANY_MONTH})\b{_STOP}(?: (\d{{1,2}})(?:st|nd|rd|th)?\b,?)?"
    r"(?: (?:de )?((?:19|20)\d\d))?",
    re.IGNORECASE,
)
_SLASHED = lazy_pattern(r"\b(\d{1,2})[./](\d{1,2})[./]((?:19|20)\d\d)\b")
_QUARTER = lazy_pattern(r"\bQ([1-4])(?:[ /-]?((?:19|20)\d\d))?\b")
_ORDINAL = "|".join({*QUARTERS, "première", "deuxième", "troisième", "quatrième"})
_QUARTER_IN_WORDS = lazy_pattern(
    rf"\b({_ORDINAL}) (?:quarter|quartal\w?|trimestre)(?: (?:of |de )?((?:19|20)\d\d))?",
    re.IGNORECASE,
)
_HALF = lazy_pattern(
    rf"\b(?:H([12])|({_ORDINAL}) (?:half of(?= (?:19|20)\d)|half[- ]year|halbjahr\w{{0,2}}|jahreshälfte"
    r"|semestre|semester))(?:[ /-]?(?:of |de )?((?:19|20)\d\d))?",
    re.IGNORECASE,
)
_SPAN = lazy_pattern(r"(?<![\w.,$€£/-])((?:19|20)\d\d)[/–-](\d\d)(?!\d)")
_YEAR = lazy_pattern(r"(?<![\w.,$€£/])((?:19|20)\d\d)s?(?![\w%/]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class Date:
    text: str
    year: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None
    half: int | None = None
    start: int = 0
    end: int = 0


Reader: TypeAlias = Callable[[re.Match[str]], Date | None]


def take_dates(text: str) -> tuple[list[Date], str]:
    """The dates, and the text with spaces in their place, so that their digits are not read as numbers."""
    found: list[Date] = []
    for pattern, read in _READERS:
        kept: list[str] = []
        end = 0
        for match in pattern.finditer(text):
            date = read(match)
            if date is not None:
                words = match[0].strip(" ,")
                end_of_words = match.start() + len(match[0].rstrip(" ,"))
                found.append(replace(date, text=words, start=match.start(), end=end_of_words))
                start = match.start()
                if date.day and pattern is _DAY_FIRST:
                    lead = _DAY_BEFORE.search(text, max(end, start - MAX_LEAD), start)
                    if lead:
                        start = lead.start()
                        first = replace(date, text=lead[1], day=int(lead[1]), start=start)
                        found.append(replace(first, end=lead.end(1)))
                kept += [text[end:start], " " * (match.end() - start)]
                end = match.end()
        text = "".join([*kept, text[end:]])
    return found, text


def _read_iso(match: re.Match[str]) -> Date | None:
    month, day = int(match[2]), int(match[3]) if match[3] else None
    valid = 1 <= month <= 12 and (day is None or 1 <= day <= 31)
    return Date("", int(match[1]), month, day) if valid else None


def _read_day_first(match: re.Match[str]) -> Date | None:
    return Date("", int(match[3]) if match[3] else None, MONTHS[fold(match[2])], int(match[1]))


def _read_month_first(match: re.Match[str]) -> Date | None:
    name, day, year = match[1], match[2], match[3]
    is_word = fold(name) in AMBIGUOUS and not (day or year)
    if (not name[0].isupper() and not year) or is_word:
        return None
    return Date("", int(year) if year else None, MONTHS[fold(name)], int(day) if day else None)


def _read_slashed(match: re.Match[str]) -> Date | None:
    first, second = int(match[1]), int(match[2])
    day, month = (first, second) if second <= 12 else (second, first)
    return Date("", int(match[3]), month, day) if month <= 12 else None


def _read_quarter(match: re.Match[str]) -> Date | None:
    return Date("", int(match[2]) if match[2] else None, quarter=int(match[1]))


def _read_quarter_in_words(match: re.Match[str]) -> Date | None:
    return Date("", int(match[2]) if match[2] else None, quarter=QUARTERS[fold(match[1])])


def _read_half(match: re.Match[str]) -> Date | None:
    half = int(match[1]) if match[1] else HALVES.get(fold(match[2]))
    return Date("", int(match[3]) if match[3] else None, half=half) if half else None


def _read_span(match: re.Match[str]) -> Date | None:
    """2022/23: its first year."""
    return Date("", int(match[1])) if int(match[2]) == (int(match[1]) + 1) % 100 else None


def _read_year(match: re.Match[str]) -> Date | None:
    return Date("", int(match[1]))


# In this order: each takes its text away from those after it.
_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (_ISO, _read_iso),
    (_DAY_FIRST, _read_day_first),
    (_MONTH_FIRST, _read_month_first),
    (_SLASHED, _read_slashed),
    (_QUARTER, _read_quarter),
    (_QUARTER_IN_WORDS, _read_quarter_in_words),
    (_HALF, _read_half),
    (_SPAN, _read_span),
    (_YEAR, _read_year),
)


def has_date(date: Date, found: Sequence[Date], text: str) -> bool:
    """Whether one of the dates found says all that this one says. A passage that speaks of the year before
    names that year too."""
    if any(_covers(other, date) for other in found):
        return True
    only_year = date.month is None and date.quarter is None and date.half is None
    if not only_year or date.year is None or not _YEAR_BEFORE.search(fold(text)):
        return False
    return any(other.year == date.year + 1 for other in found)


def _covers(found: Date, date: Date) -> bool:
    """A month lies in its quarter. A day and a month without a year are of any year."""
    quarter = found.quarter or (None if found.month is None else (found.month + 2) // 3)
    half = found.half or (None if quarter is None else (quarter + 1) // 2)
    pairs = (
        (date.year, found.year),
        (date.month, found.month),
        (date.day, found.day),
        (date.quarter, quarter),
        (date.half, half),
    )
    no_year = found.year is None and date.month is not None
    return all(
        asked is None or asked == has or (no_year and place == 0)
        for place, (asked, has) in enumerate(pairs)
    )
