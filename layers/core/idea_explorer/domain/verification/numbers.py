"""Numbers of a sentence and of a passage, and whether they agree."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Literal, TypeAlias

from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.words import TOKEN, language

Unit: TypeAlias = Literal["", "%", "points", "money"]
Hedge: TypeAlias = Literal["", "about", "above", "below"]

HEDGE_SHARE = Decimal("0.15")  # how far `more than 40` may lie from the number that is meant
FRACTION_POINTS = Decimal(
    "3.5"
)  # how far `a third` may lie from the share that is meant, in points

SCALES = {
    "k": 3, "thousand": 3, "thousands": 3, "m": 6, "mn": 6, "million": 6, "millions": 6, "bn": 9, "b": 9,
    "billion": 9, "billions": 9, "trillion": 12, "tn": 12, "mio": 6, "mrd": 9, "tausend": 3,
    "millionen": 6, "milliarden": 9, "milliarde": 9, "mille": 3, "milliards": 9, "millones": 6,
}  # fmt: skip
_ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_ONES += " sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORDS = {name: number for number, name in enumerate(_ONES.split(), start=1)}
WORDS |= {name: 10 * number for number, name in enumerate(_TENS.split(), start=2)}
WORDS |= {
    f"{ten}-{one}": WORDS[ten] + WORDS[one] for ten in _TENS.split() for one in _ONES.split()[:9]
}
WORDS |= {"dozen": 12, "hundred": 100}
# in per cent; the names that a hyphen may join
FRACTIONS = {
    "half": 50, "third": 33.3, "thirds": 66.7, "quarter": 25, "quarters": 75, "fifth": 20, "tenth": 10,
}  # fmt: skip
_TABLE_SCALE = re.compile(
    r"\b(thousand|million|billion)s?\b(?=\)| units| tonnes|[ \t]{0,9}$)|\bin (thousand|million)s\b",
    re.IGNORECASE | re.MULTILINE,
)

_ABOUT = frozenset(
    "about around roughly approximately some circa ca approx rund etwa environ cerca gut près unos".split()
)
_ABOVE = frozenset("over exceeding above exceeds exceeded".split())
_BELOW = frozenset("under below nearly almost just fast knapp presque casi".split())
_SCALE = (
    r"thousand|millions?|billions?|trillion|millionen|milliarden?|milliards|millones|tausend|mille"
)
_SCALE += r"|bn|mn|tn|mio|mrd|[kmb]"
_UNIT = r"%|per ?cent(?!age)|percent(?!age)|prozent|dollars?|euros?|pounds?|francs?|usd|eur|€"
_NUMBER = re.compile(
    r"(?P<money>[$€£¥]|\b(?:USD|EUR|GBP|CHF|Rp) ?)?"
    r"(?<![\w.,/])(?P<whole>\d{1,3}(?:[,.\u00a0\u202f'’ ]\d{3})+(?!\d)|\d{1,15})(?P<rest>[.,]\d{1,6})?(?!\d)"
    rf"(?:[ \u00a0-]?(?P<scale>{_SCALE})\b\.?)?"
    rf"(?:[ \u00a0\u202f-]?(?P<unit>{_UNIT}))?(?P<points> ?(?:percentage )?points?\b)?",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\s{0,2}(?:[–-]|,|,? ?(?:and|to|or|und|bis|oder|et|à|ou|y|a)\b)\s{0,2}")
_IN = re.compile(rf"\b({'|'.join(WORDS)}|\d{{1,2}}) (?:in|out of) ({'|'.join(WORDS)}|\d{{1,3}})\b")
_FRACTION = re.compile(
    r"(?P<hedge>\b(?:more|less|fewer) than |\bover |\bunder |\balmost |\bnearly )?"
    r"\b(?:(?:(?:a|one) )?(?P<half>half)|(?:a|one) (?P<one>third|quarter|fifth|tenth)"
    r"|(?:(?:two|three) )?(?P<more>thirds|quarters))\b"
    r"(?! of (?:19|20)\d\d| 20| an? (?:year|hour|day|month|million|dozen|century)"
    r"| of an? (?:hour|year|day|century))"
)


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


def find_numbers(text: str) -> list[Number]:
    """The numbers in digits and the shares in words."""
    return [*_share_units(list(_in_digits(text)), text), *_shares(text)]


def _share_units(numbers: list[Number], text: str) -> list[Number]:
    """The numbers of a range or list have the unit of the last one: `13–16 %`, `9, 8 and 11 %`."""
    for place in range(len(numbers) - 2, -1, -1):
        number, following = numbers[place], numbers[place + 1]
        joined = _JOINED.fullmatch(text, number.end, following.start)
        if not number.unit and following.unit and joined:
            numbers[place] = replace(number, unit=following.unit)
    return numbers


def find_all_numbers(text: str) -> list[Number]:
    """For a passage: numbers in words too, both readings of 1.234, and the cells of a table in thousands."""
    found = [*find_numbers(text), *(number for number, _ in find_counts(text))]
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
    tokens = [(fold(match[0]), match.start(), match.end()) for match in TOKEN.finditer(text)]
    for (first, start, end), (second, _, _) in pairwise([*tokens, ("", 0, 0)]):
        if first in WORDS:
            scale = Decimal(10) ** SCALES.get(second, 0)
            unit: Unit = "%" if second in {"percent", "per"} else ""
            value = WORDS[first] * scale
            yield Number(first, value, scale, unit, start=start, end=end), second


def _in_digits(text: str) -> Iterator[Number]:
    for match in _NUMBER.finditer(text):
        whole, rest = match["whole"], match["rest"] or ""
        if len(whole) == 5 and whole[1] == "." and not rest and language(text, "") == "en":
            whole, rest = whole[0], whole[1:]  # 2.650 in English is a decimal
        digits = re.sub(r"\D", "", whole)
        value = Decimal(f"{digits}.{rest[1:]}") if rest else Decimal(digits)
        scale = Decimal(10) ** SCALES.get(fold(match["scale"] or ""), 0)
        unit = fold(match["unit"] or "")
        kind: Unit = "%" if unit in {"%", "percent", "per cent", "prozent"} else ""
        if match["points"]:
            kind = "points"
        elif match["money"] or (unit and not kind):
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
        )


def _hedge(before: str, after: str) -> Hedge:
    words = [word.strip("(,") for word in fold(before).rstrip(" $€£¥~≈").split()]
    last = words[-1] if words else ""
    pair = " ".join(words[-2:])
    if pair in {"more than", "at least", "greater than", "mehr als", "plus de"} or last in _ABOVE:
        return "above"
    if pair in {"less than", "fewer than", "at most", "up to", "close to"} or last in _BELOW:
        return "below"
    is_about = last in _ABOUT or before.rstrip().endswith(("~", "≈")) or after.startswith(" or so")
    return "about" if is_about else ""


def _shares(text: str) -> Iterator[Number]:
    folded = fold(text)
    for match in _IN.finditer(folded):
        part, whole = (Decimal(WORDS.get(word) or word) for word in match.groups())
        if part < whole:
            value = 100 * part / whole
            yield Number(match[0], value, Decimal(1), "%", "about", is_share=True)
    for match in _FRACTION.finditer(folded.replace("-", " ")):
        name = match["half"] or match["one"] or match["more"]
        value = Decimal(str(FRACTIONS[name]))
        said = (match["hedge"] or "").split()
        hedge: Hedge = "above" if said[:1] in (["more"], ["over"]) else "below" if said else "about"
        yield Number(match[0].strip(), value, Decimal(1), "%", hedge, is_share=True)


def agrees_with_any(number: Number, found: Iterable[Number]) -> bool:
    return any(_agree(number, other) for other in found)


def _agree(stated: Number, found: Number) -> bool:
    """Whether the number found, rounded as the stated one is, is the same."""
    if stated.unit and found.unit and stated.unit != found.unit:
        return False
    distance = found.value - stated.value
    if stated.is_share or found.is_share:
        is_percent = stated.unit == found.unit == "%"
        return is_percent and is_about(stated, found.value)
    step = max(stated.step, round_step(stated.value)) if stated.hedge else stated.step
    far = stated.value * HEDGE_SHARE
    if stated.hedge == "above" and 0 <= distance <= far:
        return True
    if stated.hedge == "below" and 0 <= -distance <= far:
        return True
    if found.hedge and abs(distance) <= max(step, found.step) / 2:
        return True
    return abs(distance) <= step / 2 if found.step < stated.step or stated.hedge else distance == 0


def is_about(share: Number, value: Decimal) -> bool:
    """Whether a share in words may mean this number of per cent."""
    above = FRACTION_POINTS if share.hedge != "above" else 15
    below = FRACTION_POINTS if share.hedge != "below" else 15
    return -below <= value - share.value <= above


def round_step(value: Decimal) -> Decimal:
    """The step to which a round number is exact: 1,200 to a hundred."""
    step = Decimal(1)
    while value and value % (step * 10) == 0:
        step *= 10
    return step


def is_near(number: Number, result: Decimal) -> bool:
    step = max(number.step, round_step(number.value)) if number.hedge else number.step
    return abs(result - number.value) <= step / 2
