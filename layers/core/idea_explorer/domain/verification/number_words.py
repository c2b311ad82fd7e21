"""Numbers, shares and points in words: `forty`, `two thirds`, `half a percentage point`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold

Hedge: TypeAlias = Literal["", "about", "above", "below", "just above", "just below"]

SCALES = {
    "k": 3, "thousand": 3, "thousands": 3, "m": 6, "mn": 6, "million": 6, "millions": 6, "bn": 9, "b": 9,
    "billion": 9, "billions": 9, "trillion": 12, "tn": 12, "mio": 6, "mrd": 9, "tausend": 3,
    "millionen": 6, "milliarden": 9, "milliarde": 9, "mille": 3, "milliards": 9, "millones": 6,
    "tsd": 3, "mil": 3, "mil millones": 9, "billionen": 12, "md": 9, "mds": 9, "lakh": 5, "crore": 7,
}  # fmt: skip
# units of measure by what is measured, and how many of the smallest one they are
_MEASURES = (
    {
        "second seconds sekunde sekunden seconde secondes segundos": "1",
        "minute minutes minuten minutos": "60",
        "hour hours stunde stunden heure heures hora horas": "3600",
        "day days tag tage tagen jour jours dia dias": "86400",
        "week weeks woche wochen semaine semaines semana semanas": "604800",
        "month months monat monate monaten mois mes meses": "2628000",
        "year years jahr jahre jahren an ans annee annees ano anos": "31536000",  # twelve months
    },
    {
        "mm millimetres millimeters millimeter": "1",
        "cm centimetres centimeters zentimeter": "10",
        "metre metres meter meters": "1000",
        "km kilometre kilometres kilometer kilometers": "1000000",
        "mile miles meilen": "1609344",
    },
    {
        "gram grams gramm grammes gramos": "1",
        "kg kilogram kilograms kilo kilos kilogramm": "1000",
        "tonne tonnes tons tonnen toneladas": "1000000",
    },
)
MEASURES = {
    name: (dimension, Decimal(size))
    for dimension, units in enumerate(_MEASURES)
    for names, size in units.items()
    for name in names.split()
}
MONTH = MEASURES["month"][1]
_ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_ONES += " sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORDS = {name: number for number, name in enumerate(_ONES.split(), start=1)}
WORDS |= {name: 10 * number for number, name in enumerate(_TENS.split(), start=2)}
WORDS |= {
    f"{ten}-{one}": WORDS[ten] + WORDS[one] for ten in _TENS.split() for one in _ONES.split()[:9]
}
WORDS |= {"dozen": 12, "hundred": 100}
for _names in (
    "zwei drei vier funf sechs sieben acht neun zehn",
    "deux trois quatre cinq six sept huit neuf dix",
    "dos tres cuatro cinco seis siete ocho nueve diez",
):
    WORDS |= {name: number for number, name in enumerate(_names.split(), start=2)}
_COUNTS = {
    "a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "ein": 1, "eines": 1, "einem": 1, "zwei": 2, "drei": 3,
    "vier": 4, "un": 1, "deux": 2, "trois": 3, "dos": 2, "tres": 3,
}  # fmt: skip
_PARTS = {
    "half": 2, "halfte": 2, "moitie": 2, "mitad": 2, "third": 3, "drittel": 3, "tiers": 3, "tercio": 3,
    "quarter": 4, "viertel": 4, "quart": 4, "cuarto": 4, "fifth": 5, "funftel": 5, "tenth": 10, "zehntel": 10,
}  # fmt: skip
_IN = lazy_pattern(
    rf"\b({'|'.join(WORDS)}|\d{{1,2}}) (?:in|out of) ({'|'.join(WORDS)}|\d{{1,3}})\b"
)
_FRACTION = lazy_pattern(
    r"(?:\b(?:(?P<above>more than|over|mehr als|uber|gut|plus d(?:e|(?=['’]))|mas de)"
    r"|(?P<below>(?:less|fewer) than|under|almost|nearly|fast|knapp|weniger als|moins de|presque"
    r"|pres de|casi))"
    r"['’ ](?:the |die |der |la )?)?"
    r"\b(?:(?:(?:a|one) )?(?P<half>half|halfte|moitie|mitad)"
    rf"|(?P<count>{'|'.join(_COUNTS)}) (?P<part>{'|'.join(_PARTS)})s?)\b"
    r"(?! of (?:19|20)\d\d| 20| an? (?:year|hour|day|month|million|dozen|century|percentage point)"
    r"| of an? (?:hour|year|day|century))"
)
_POINT_WORDS = ("percentage point", "prozentpunkt", "porcentual")
_POINTS = lazy_pattern(
    rf"\b(?P<half>half an?|ein\w{{0,2}} halben|medio)? ?(?P<count>{'|'.join({*_COUNTS, *WORDS, 'einen'})})?"
    r" ?(?:full |whole |ganzen )?(?:percentage points?|prozentpunkt|puntos? porcentual)"
)


@dataclass(frozen=True, slots=True)
class Share:
    text: str
    value: Decimal  # in per cent or points
    hedge: Hedge = "about"
    is_points: bool = False
    start: int = 0
    end: int = 0


def find_shares(text: str) -> Iterator[Share]:
    folded = fold(text)
    for match in _IN.finditer(folded):
        part, whole = (Decimal(WORDS.get(word) or word) for word in match.groups())
        if part < whole:
            yield Share(match[0], 100 * part / whole, start=match.start(), end=match.end())
    spaced = folded.replace("-", " ")
    for match in _FRACTION.finditer(spaced) if _has_any(_PARTS, spaced) else ():
        parts = Decimal(_PARTS[match["half"] or match["part"]])
        hedge: Hedge = "above" if match["above"] else "below" if match["below"] else "about"
        share = 100 * _COUNTS.get(match["count"], 1) / parts
        yield Share(match[0].strip(), share, hedge, start=match.start(), end=match.end())
    for match in _POINTS.finditer(spaced) if _has_any(_POINT_WORDS, spaced) else ():
        if match["half"]:
            yield Share(match[0].strip(), Decimal("0.5"), "", is_points=True)
        elif match["count"]:
            value = _COUNTS.get(match["count"]) or WORDS.get(match["count"], 1)
            yield Share(match[0].strip(), Decimal(value), "", is_points=True)


def _has_any(words: Iterable[str], text: str) -> bool:
    """Whether it is worth looking for them: the patterns are slow, and few sentences have any."""
    return any(word in text for word in words)
