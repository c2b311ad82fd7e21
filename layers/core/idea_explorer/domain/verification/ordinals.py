"""Places in an order: `the third plant`, `das dritte Werk`, `le 3e site`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.verification.words import TOKEN, content_words, fold_word

_NAMES = (
    "first erste ersten erster erstes premier premiere primer primera",
    "second zweite zweiten zweiter zweites deuxieme segundo segunda",
    "third dritte dritten dritter drittes troisieme tercer tercera",
    "fourth vierte vierten vierter viertes quatrieme cuarto cuarta",
    "fifth funfte funften funfter funftes cinquieme quinto quinta",
    "sixth sechste sechsten sechster sechstes sixieme sexto sexta",
    "seventh siebte siebten siebter siebtes septieme septimo septima",
    "eighth achte achten achter achtes huitieme octavo octava",
    "ninth neunte neunten neunter neuntes neuvieme noveno novena",
    "tenth zehnte zehnten zehnter zehntes dixieme decimo decima",
    "eleventh elfte elften elfter elftes onzieme",
    "twelfth zwolfte zwolften zwolfter zwolftes douzieme",
)
ORDINALS = {name: place for place, names in enumerate(_NAMES, 1) for name in names.split()}
_IN_DIGITS = lazy_pattern(r"(\d{1,3})(?:st|nd|rd|th|e|eme)")


@dataclass(frozen=True, slots=True)
class Ordinal:
    text: str
    place: int
    ordered: frozenset[str]  # the word after it, without its ending


def find_ordinals(text: str) -> Iterator[Ordinal]:
    tokens = [match[0] for match in TOKEN.finditer(text)]
    for name, following in pairwise([*tokens, ""]):
        folded = fold_word(name)
        in_digits = _IN_DIGITS.fullmatch(folded) if folded[0].isdigit() else None
        place = int(in_digits[1]) if in_digits else ORDINALS.get(folded)
        if place:
            yield Ordinal(name, place, frozenset(content_words(following)))


def find_other_ordinals(text: str, find: Callable[[], Sequence[Ordinal]]) -> Iterator[str]:
    """Ordinals in words that a passage does not have, before a word that another one stands before there.
    `find` gives those of the passage."""
    for stated in find_ordinals(text):
        if stated.text[0].isdigit() or any(stated.place == other.place for other in find()):
            continue
        if any(stated.ordered & other.ordered for other in find()):
            yield stated.text
