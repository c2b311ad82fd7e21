"""Numbers of a sentence and of a passage, and whether they agree."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Literal, TypeAlias

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.number_words import (
    MEASURES,
    SCALES,
    WORDS,
    Hedge,
    find_shares,
)
from idea_explorer.domain.verification.words import FUNCTION_WORDS, TOKEN, fold_word, language

Unit: TypeAlias = Literal["", "%", "points", "money"]

HEDGE_SHARE = Decimal("0.15")  # how far `more than 40` may lie from the number that is meant
# how far a number may be off after it is converted: months have no fixed length
CONVERTED = Decimal("0.02")
JUST_SHARE = Decimal("0.05")  # how far `just over 40` may
STEP_IN_WORDS = Decimal("0.5")  # of points in words
MAX_HEDGED = Decimal("0.2")  # of a number, to which it may be rounded
MAX_NOUN = 40  # characters after a number in which it is looked for what is counted
# how far `a third` may lie from the share that is meant, in points
FRACTION_POINTS = Decimal("3.5")

_TABLE_SCALE = lazy_pattern(
    r"\b(thousand|million|billion)s?\b(?=\)| units| tonnes|[ \t]{0,9}$)|\bin (thousand|million)s\b",
    re.IGNORECASE | re.MULTILINE,
)

_JUST = frozenset("just slightly gut knapp etwas algo peu".split())
_ABOUT = frozenset(
    "about around roughly approximately some circa ca approx rund etwa ungefahr environ cerca unos unas"
    " aproximadamente".split()
)
_ABOVE = frozenset("over exceeding above exceeds exceeded topped uber gut mindestens".split())
_ABOVE_PAIRS = frozenset(
    (
        "more than",
        "at least",
        "greater than",
        "mehr als",
        "plus de",
        "mas de",
        "al menos",
        "au moins",
    )
)
_BELOW = frozenset("under below just unter".split())
_NEARLY = frozenset("nearly almost fast knapp presque casi quasi".split())
_NEARLY_PAIRS = frozenset(("close to", "pres de", "cerca de"))
_BELOW_PAIRS = frozenset(
    ("less than", "fewer than", "at most", "up to", "weniger als", "bis zu", "moins de", "menos de")
)
_SCALE = (
    r"thousand|millions?|billions?|trillion|millionen|milliarden?|milliards|millones|tausend|mille"
)
_SCALE += r"|mil millones|mil|billionen|lakh|crore|tsd|mds?|bn|mn|tn|mio|mrd|[kmb]"
_PER_CENT = r"%|per ?cent(?!age)|prozent(?!punkt)|pour cent|por ciento"
CODES = "usd eur gbp chf nok sek dkk pln czk huf jpy cny inr brl cad aud".split()
_CODE = "|".join(CODES)
_MONEY = (
    r"dollars?|euros?|pounds?|francs?|franken|kron(?:en|or|er)|rupees?|yen|yuan|pesos?|€|£"
    rf"|(?:{_CODE})\b"
)
# one name for the signs, codes and words of the currencies that are most often mistaken for each other
_CURRENCIES = {
    "$": "dollar", "usd": "dollar", "cad": "dollar", "aud": "dollar", "€": "euro", "eur": "euro",
    "£": "pound", "gbp": "pound", "chf": "franc", "franken": "franc", "¥": "yen", "jpy": "yen",
}  # fmt: skip
_NUMBER = lazy_pattern(
    r"(?=[$€£¥\d]|[a-z]{2,3} ?\d)"
    rf"(?P<money>[$€£¥]|\b(?:{_CODE}|Rp) ?)?"
    r"(?<![\w.,/])(?P<whole>\d{1,3}(?:[,.\u00a0\u202f'’ ]\d{3})+(?!\d)|\d{1,15})(?P<rest>[.,]\d{1,6})?(?!\d)"
    rf"(?:[ \u00a0-]?(?P<scale>{_SCALE})\b\.?)?"
    rf"(?:[ \u00a0\u202f-]?(?:(?P<percent>{_PER_CENT})|(?:d['’]|de )?(?P<currency>{_MONEY})))?"
    r"(?P<points> ?(?:(?:percentage )?points?\b|prozentpunkt|puntos? porc))?",
    re.IGNORECASE,
)
_CURRENCY = lazy_pattern(_MONEY)
_JOINED = lazy_pattern(r"\s{0,2}(?:[–-]|,|,? ?(?:and|to|or|und|bis|oder|et|à|ou|y|a)\b)\s{0,2}")


@dataclass(frozen=True, slots=True)
class Number:
    text: str
    value: Decimal
    step: Decimal  # of its last digit: 1.2 million is exact to 100,000
    unit: Unit = ""
    hedge: Hedge = ""
    is_share: bool = False  # `a third`, `six in ten`
    start: int = 0
    end: int = 0
    counts: bool = False  # what the word after it names: litres, people
    currency: str = ""
    measure: str = ""  # the word after it, if it is a unit of measure


def find_numbers(text: str) -> list[Number]:
    """The numbers in digits and the shares in words."""
    return [*_share_units(list(_in_digits(text)), text), *_read_shares(text)]


def _read_shares(text: str) -> Iterator[Number]:
    for share in find_shares(text):
        unit: Unit = "points" if share.is_points else "%"
        yield Number(
            share.text,
            share.value,
            STEP_IN_WORDS,
            unit,
            share.hedge,
            is_share=not share.is_points,
            start=share.start,
            end=share.end,
        )


def _share_units(numbers: list[Number], text: str) -> list[Number]:
    """The numbers of a range or list have the unit of the last one: `13–16 %`, `9, 8 and 11 %`."""
    for place in range(len(numbers) - 2, -1, -1):
        number, following = numbers[place], numbers[place + 1]
        joined = _JOINED.fullmatch(text, number.end, following.start)
        if not number.unit and following.unit and joined:
            numbers[place] = replace(number, unit=following.unit, currency=following.currency)
    return numbers


def read_both_ways(numbers: Iterable[Number], text: str) -> list[Number]:
    """For a passage: both readings of 1.234, and the cells of a table in thousands."""
    found = [*numbers]
    found += [
        replace(number, value=number.value * 1000, step=Decimal(1))
        for number in found
        if number.step == Decimal("0.001") and number.value < 1000
    ]
    if factor := find_table_scale(text):
        plain = [number for number in found if not number.unit and number.value < 1_000_000]
        found += [replace(n, value=n.value * factor, step=n.step * factor) for n in plain]
    return found


def find_table_scale(text: str) -> Decimal | None:
    """Of a text that says that its numbers are thousands or millions."""
    scale = _TABLE_SCALE.search(text)
    return Decimal(10) ** SCALES[fold(scale[1] or scale[2])] if scale else None


def find_counts(text: str) -> Iterator[tuple[Number, str]]:
    """Numbers in words, each with the word that follows: what is counted."""
    tokens = [(fold_word(match[0]), match.start(), match.end()) for match in TOKEN.finditer(text)]
    for (first, start, end), (second, _, _) in pairwise([*tokens, ("", 0, 0)]):
        if first in WORDS:
            scale = Decimal(10) ** SCALES.get(second, 0)
            unit: Unit = "%" if second in {"percent", "per"} else ""
            value = WORDS[first] * scale
            measure = second if second in MEASURES else ""
            yield (
                Number(first, value, scale, unit, start=start, end=end, measure=measure),
                second,
            )


def _in_digits(text: str) -> Iterator[Number]:
    for match in _NUMBER.finditer(text):
        whole, rest = match["whole"], match["rest"] or ""
        if len(whole) == 5 and whole[1] == "." and not rest and language(text, "") == "en":
            whole, rest = whole[0], whole[1:]  # 2.650 in English is a decimal
        digits = re.sub(r"\D", "", whole)
        value = Decimal(f"{digits}.{rest[1:]}") if rest else Decimal(digits)
        scale = Decimal(10) ** SCALES.get(fold(match["scale"] or ""), 0)
        kind: Unit = "points" if match["points"] else "%" if match["percent"] else ""
        if not kind and (match["money"] or match["currency"]):
            kind = "money"
        step = scale / Decimal(10) ** len(rest[1:])
        hedge = _hedge(
            text[max(0, match.start() - 30) : match.start("whole")], text[match.end() :][:6]
        )
        yield Number(
            match[0].strip(" -."),
            value * scale,
            step,
            kind,
            hedge,
            start=match.start(),
            end=match.end(),
            counts=not kind and _has_noun(text, match.end()),
            currency=_name_currency(match["money"] or match["currency"] or ""),
            measure="" if kind else _find_measure(text, match.end()),
        )


def _find_measure(text: str, end: int) -> str:
    following = TOKEN.match(text, end + 1)  # after a space or hyphen
    word = fold(following[0]).partition("-")[0] if following else ""
    return word if word in MEASURES else ""


def _name_currency(sign: str) -> str:
    plain = fold(sign).strip()
    return _CURRENCIES.get(plain, plain.removesuffix("s"))


def _has_noun(text: str, end: int) -> bool:
    """Whether a word after a number says what is counted, so that it is not money or per cent."""
    words = fold(text[end : end + MAX_NOUN]).replace("d'", " ").replace("d’", " ").split()
    words = [word for word in words if word != "de"][:2]
    if text[end : end + 1] not in {" ", "\u00a0", "\u202f"} or any(map(_CURRENCY.match, words)):
        return False
    return (
        bool(words) and len(words[0]) > 3 and words[0].isalpha() and words[0] not in FUNCTION_WORDS
    )


def _hedge(before: str, after: str) -> Hedge:
    words = [word.strip("(,") for word in fold(before).rstrip(" $€£¥~≈").split()]
    last = words[-1] if words else ""
    pair = " ".join(words[-2:])
    is_close = last in _JUST or not _JUST.isdisjoint(words[-3:-1])
    if pair in _ABOVE_PAIRS or last in _ABOVE:
        return "just above" if is_close else "above"
    if pair in _NEARLY_PAIRS or last in _NEARLY:
        return "just below"
    if pair in _BELOW_PAIRS or last in _BELOW:
        return "just below" if is_close else "below"
    is_about = last in _ABOUT or before.rstrip().endswith(("~", "≈")) or after.startswith(" or so")
    return "about" if is_about else ""


def agrees_with_any(number: Number, found: Iterable[Number]) -> bool:
    return any(_agree(number, other) for other in found)


def _agree(stated: Number, found: Number) -> bool:
    """Whether the number found, rounded as the stated one is, is the same."""
    if (
        stated.unit != found.unit
        and (stated.unit or stated.counts)
        and (found.unit or found.counts)
    ):
        return False
    if stated.currency and found.currency and stated.currency != found.currency:
        return False
    if stated.measure and found.measure and stated.measure != found.measure:
        found = _convert(found, stated.measure)
        if not stated.hedge and found.value != stated.value:
            return abs(found.value - stated.value) <= stated.value * CONVERTED
    distance = found.value - stated.value
    if stated.is_share or found.is_share:
        is_percent = stated.unit == found.unit == "%"
        return is_percent and is_about(stated, found.value)
    step = hedged_step(stated)
    far = stated.value * (JUST_SHARE if stated.hedge.startswith("just") else HEDGE_SHARE)
    if stated.hedge.endswith("above") and 0 <= distance <= far:
        return True
    if stated.hedge.endswith("below") and 0 <= -distance <= far:
        return True
    if found.hedge and abs(distance) <= max(step, found.step) / 2:
        return True
    return abs(distance) <= step / 2 if found.step < stated.step or stated.hedge else distance == 0


def _convert(number: Number, measure: str) -> Number:
    """The number in another unit: two years are 24 months, but two tonnes are no kilometres."""
    (one, size), (other, wanted) = MEASURES[number.measure], MEASURES[measure]
    factor = size / wanted if one == other else Decimal(-1)
    return replace(number, value=number.value * factor, step=number.step * factor)


def is_about(share: Number, value: Decimal) -> bool:
    """Whether a share in words may mean this number of per cent."""
    above = FRACTION_POINTS if share.hedge != "above" else 15
    below = FRACTION_POINTS if share.hedge != "below" else 15
    return -below <= value - share.value <= above


def hedged_step(number: Number) -> Decimal:
    """`About 1,000` may mean 950, but `just over 1,000` no less, and none of them 600."""
    if not number.hedge or number.hedge.startswith("just"):
        return number.step
    return max(number.step, min(round_step(number.value), number.value * MAX_HEDGED))


def round_step(value: Decimal) -> Decimal:
    """The step to which a round number is exact: 1,200 to a hundred."""
    step = Decimal(1)
    while value and value % (step * 10) == 0:
        step *= 10
    return step


def is_near(number: Number, result: Decimal) -> bool:
    step = hedged_step(number)
    return abs(result - number.value) <= step / 2
