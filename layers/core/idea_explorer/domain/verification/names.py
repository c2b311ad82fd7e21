"""Names in a sentence, and whether a passage has them."""

from collections import Counter
from collections.abc import Iterator

from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.dates import MONTHS
from idea_explorer.domain.verification.number_words import SCALES, WORDS
from idea_explorer.domain.verification.words import FUNCTION_WORDS, TOKEN, find_words, language

MIN_STEM = 4  # letters that two forms of a name share: German, Germany
# capitalised in the middle of a sentence without being a name
_ORDINARY = frozenset(
    "i mr mrs ms dr prof inc ltd co q1 q2 q3 q4 usd eur gbp chf ceo cto cfo b2b b2c saas kpi roi faq pdf"
    " url api monday tuesday wednesday thursday friday saturday sunday".split()
)
# what every business plan speaks of, and a source need not
_ABBREVIATIONS = frozenset(
    "TAM SAM SOM ARPU ARR MRR CAC LTV CLV CAGR GMV EBITDA EBIT MVP USP SWOT OKR NPS SLA SME SMB KMU PME OEM"
    " HR PR IP AI KI IA UX UI VAT B2B2C D2C FTE P&L R&D".split()
)
# words for a country and its people that do not begin alike
_PEOPLES = (
    "dutch netherlands holland",
    "british britain uk england english kingdom",
    "us usa american america states",
    "french france",
    "swiss switzerland",
    "spanish spain",
    "danish danes denmark",
    "finnish finns finland",
    "polish poles poland",
    "swedish swedes sweden",
    "turkish turks turkey turkiye",
    "greek greece",
    "welsh wales",
    "irish ireland",
    "scottish scotland",
    "chinese china",
    "portuguese portugal",
    "czech czechia",
    "norwegian norway",
    "belgian belgium",
    "brazilian brazil",
    "mexican mexico",
    "ukrainian ukraine",
    "eu european europe union",
    "un united nations",
)
_PEOPLE = {word: frozenset(group.split()) for group in _PEOPLES for word in group.split()}
CURRENCIES = {
    "a$": "australian", "c$": "canadian", "us$": "us", "nz$": "zealand", "hk$": "hong", "chf": "swiss",
    "nok": "norwegian", "sek": "swedish", "dkk": "danish", "pln": "polish", "¥": "japanese", "₹": "indian",
}  # fmt: skip
_ENDINGS = ("s", "es", "n", "ns", "an", "ans", "ian", "ians", "ish", "ese", "i")


def find_names(sentence: str, passage: str = "") -> list[str]:
    """Capitalised words, acronyms and words with inner capitals. The first word has a capital anyway, and
    in German every noun has, so there only what is unmistakable counts. The row of a table is in the
    language of its passage."""
    only_clear = language(sentence, language(passage)) == "de"
    return list(dict.fromkeys(_names(sentence, only_clear=only_clear)))


def _names(sentence: str, *, only_clear: bool) -> Iterator[str]:
    previous_end = 0
    for match in TOKEN.finditer(sentence):
        before = sentence[previous_end : match.start()]
        starts = previous_end == 0 or any(mark in before for mark in '.!?:“"')
        previous_end = match.end()
        name = match[0].removesuffix("'s").removesuffix("’s")
        folded = fold(name)
        known = folded in _ORDINARY or folded in MONTHS or folded in WORDS or folded in SCALES
        known = known or name in _ABBREVIATIONS
        is_word = folded in FUNCTION_WORDS and not (name.isupper() and len(name) > 2)  # WHO
        if known or len(name) < 2 or name[0].isdigit() or is_word:
            continue
        clear = any(char.isupper() for char in name[1:]) and name[0].isalpha()
        is_owner = name != match[0]  # Estonia's
        if clear or (name[0].isupper() and not only_clear and (not starts or is_owner)):
            yield name


def find_following_names(sentence: str) -> list[str]:
    """In German, words with a capital right after another one: `Firma Carbonis`. After a number they are a
    measure."""
    tokens = [(match[0], match.start(), match.end()) for match in TOKEN.finditer(sentence)]
    found: list[str] = []
    for (before, _, _), (first, _, end), (second, start, _) in zip(
        tokens, tokens[1:], tokens[2:], strict=False
    ):
        is_pair = first[0].isupper() and second[0].isupper() and sentence[end:start] == " "
        is_measure = before[0].isdigit() or {fold(before), fold(first)} & {*SCALES, *WORDS}
        is_adjective = first.endswith("er")  # Berliner Kliniken
        if is_pair and not is_measure and not is_adjective and fold(second) not in MONTHS:
            found.append(second)
    return found


def has_name(name: str, words: Counter[str], initials: str) -> bool:
    spelled = find_words(name)
    if _has_word(spelled[0], words):
        return True
    if len(spelled) > 2:  # a compound: joined, or with all its parts
        parts = [part for part in spelled[1:-1] if len(part) > 1]
        return spelled[-1] in words or (
            bool(parts) and all(_has_word(part, words) for part in parts)
        )
    return name.isupper() and len(name) >= 3 and name in initials


def _has_word(word: str, words: Counter[str]) -> bool:
    if word in words or any(other in words for other in _PEOPLE.get(word, ())):
        return True
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if f"{word}{ending}" in words or (len(stem) >= MIN_STEM and stem in words):
            return True
    if len(word) <= MIN_STEM + 1:
        return False
    stem = word[:-1]
    return any(other.startswith(stem) and len(other) - len(word) <= 2 for other in words)
