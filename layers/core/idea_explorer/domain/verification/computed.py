"""Numbers that a sentence computes from those of its passages."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations, islice

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.verification.dates import Date
from idea_explorer.domain.verification.number_words import MEASURES, MONTH
from idea_explorer.domain.verification.numbers import (
    Number,
    Unit,
    agrees_with_any,
    is_about,
    is_near,
)

SMALLEST_AMOUNT = 2  # of which a share is computed
NEAR = 200  # characters between an amount and the whole that it is a share of
MAX_STATED = 12  # numbers of a sentence of which pairs are tried
MAX_COMBINED = 40  # numbers of a passage of which pairs are tried
# words of a sentence that say that it computes something from what it read
_COMPUTES = lazy_pattern(
    r"percentage points?|\bpoints? (?:higher|lower|short|above|below)|together|combined|between them"
    r"|\btotal|\bin all\b|\bsum\b|fewer|\bmore than (?:a|the)|\bless\b|\bgap\b|short of|\btimes\b"
    r"|\bfrom\b.{1,40}\bto\b|difference|remaining|\brest\b|se partagent|de plus|in addition|\bof our\b",
    re.IGNORECASE,
)
_REST = lazy_pattern(
    r"\b(?:not|no|never|without|others?|rest|remain\w{0,5}|only|nicht|kein\w{0,3}|ohne|pas|sans|autres?)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)


def is_computed(
    number: Number, stated: Sequence[Number], found: Sequence[Number], text: str
) -> bool:
    """Whether it follows from two numbers by one operation: of numbers in the same sentence always, of
    numbers in the passage only where the sentence says that it computes something."""
    others = (other for other in stated[:MAX_STATED] if other is not number)
    own = [other for other in others if agrees_with_any(other, found)]
    if any(_gives(number, *pair) for pair in combinations(own[:10], 2)):
        return True
    if number.is_share:
        digits = (other.value for other in stated if other.unit == "%" and not other.is_share)
        return any(is_about(number, value) for value in digits) or _is_share_of(number, found, text)
    if not (number.unit == "points" or _COMPUTES.search(text)):
        return False
    alike = [other for other in found if _may_combine(number, other)][:MAX_COMBINED]
    sums = combinations(alike, 3) if len(alike) <= 12 else ()
    return any(_adds_up(number, *pair) for pair in combinations(alike, 2)) or any(
        is_near(number, first.value + second.value + third.value) for first, second, third in sums
    )


def is_time_between(number: Number, dates: Sequence[Date]) -> bool:
    """Whether a number of months or years lies between two dates of a passage."""
    size = MEASURES[number.measure][1] / MONTH if number.measure else Decimal(0)
    if size not in {1, 12}:
        return False
    months = [12 * d.year + d.month for d in dates if d.year and d.month][:MAX_COMBINED]
    years = [12 * d.year for d in dates if d.year and size == 12][:MAX_COMBINED]
    spans = (abs(a - b) for found in (months, years) for a, b in combinations(found, 2))
    return any(abs(span - number.value * size) < size for span in spans if span)


def _is_share_of(share: Number, found: Sequence[Number], text: str) -> bool:
    """Whether two amounts of the passage stand in this relation, or one per cent is the rest to it."""
    amounts = [n for n in found if not n.unit and n.value > SMALLEST_AMOUNT][:MAX_COMBINED]
    pairs = (pair for pair in combinations(amounts, 2) if _are_near(*pair))
    values = (sorted((one.value, other.value)) for one, other in pairs)
    parts = (100 * part / whole for part, whole in values)
    says_rest = _REST.search(text) is not None
    rest = (100 - number.value for number in found if says_rest and number.unit == "%")
    return any(is_about(share, value) for value in (*parts, *rest))


def _are_near(one: Number, other: Number) -> bool:
    return abs(one.start - other.start) <= NEAR


def _may_combine(number: Number, other: Number) -> bool:
    units = {"%", "points"} if number.unit in {"%", "points"} else {number.unit, ""}
    return other.unit in units and not other.is_share


def _adds_up(number: Number, first: Number, second: Number) -> bool:
    results = islice(_combine(first, second), 2)
    return any(_is_result(number, value, unit) for value, unit in results)


def _gives(number: Number, first: Number, second: Number) -> bool:
    return any(_is_result(number, value, unit) for value, unit in _combine(first, second))


def _is_result(number: Number, value: Decimal, unit: Unit) -> bool:
    """A number without a unit may have any, but per cent and points are not the same."""
    return number.unit in {unit, ""} and is_near(number, value)


def _combine(first: Number, second: Number) -> Iterator[tuple[Decimal, Unit]]:
    """What two numbers give by one operation: their sum, their difference, and all others."""
    a, b = first.value, second.value
    unit: Unit = "%" if "%" in {first.unit, second.unit} else first.unit or second.unit
    yield a + b, unit
    is_change = {first.unit, second.unit} == {"%", "points"}
    yield abs(a - b), "%" if is_change else "points" if unit == "%" else unit
    if "%" in {first.unit, second.unit} and first.unit != second.unit and not is_change:
        share, amount = (first, second) if first.unit == "%" else (second, first)
        yield share.value * amount.value / 100, amount.unit
        if share.value:
            yield 100 * amount.value / share.value, amount.unit
        return
    yield a * b, unit
    for one, other in ((a, b), (b, a)):
        if other:
            yield one / other, ""
            yield 100 * one / other, "%"
            yield 100 * abs(one - other) / other, "%"
