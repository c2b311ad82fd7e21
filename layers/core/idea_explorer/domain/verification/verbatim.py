"""Whether a source has a sentence word for word, and states it itself."""

import re
from collections.abc import Iterator
from functools import lru_cache

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.verification.words import plain_text

MAX_AROUND = 500  # characters before and after a sentence that may take it back
MAX_ABOVE = 10_000  # characters above a list, in which the line stands that leads in to it
MAX_PLACES = 10  # at which a sentence is looked at
_TAKES_BACK = lazy_pattern(
    r"\b(?:myths?|misconceptions?|misunderstandings?|rumou?rs?|hoax\w*|fallac\w+|allege\w*|suppos\w+"
    r"|purported\w*|claims?|claimed|believed?|false\w*|wrong\w*|untrue|incorrect\w*|inaccurate|mistaken"
    r"|not (?:true|so|the case)|no longer|debunk\w*|refut\w+|disprove\w*|disput\w+|retract\w+|reject\w+"
    r"|ruled out|correction|outdated|obsolete|superseded|hypothetical\w*|fiction\w*|satire"
    r"|no (?:evidence|proof)|never been|withdrawn|nonsense|the opposite (?:is|holds)"
    r"|on the contrary|contradict\w*|unproven|doubt\w*"
    r"|myth(?:os|en)|irrt[uü]m\w*|falsch\w*|unwahr\w*|angeblich\w*|widerleg\w+|veraltet\w*|verworfen\w*"
    r"|unsinn|gegenteil|keine? (?:belege?|beweise?)"
    r"|mythes?|faux|fausse|falso|falsa|mito|mitos)\b|(?:^|[.!?]\s+)(?:No|Nein|Non|However)[,.] ",
    re.IGNORECASE,
)
_ITEM = lazy_pattern(r"\s*(?:[-+]|\d{1,3}[.)])\s|\s")
# what may stand before a sentence in its line; emphasis, and with it the asterisk of an item, is removed
_LINE_START = lazy_pattern(r"\s*(?:(?:[-+>]|\d{1,3}[.)])\s+)?")
_SENTENCE_ENDS = (".", "!", "?")


def has_sentence(markdown: str, passage: str) -> bool:
    """Whether the passage has the sentence word for word, and as a whole one: then no rule objects to it.
    Emphasis has been removed from the passage."""
    sentence = plain_text(markdown)
    return any(_is_whole(sentence, at, passage) for at in _find(sentence, passage))


def states_sentence(markdown: str, passage: str) -> bool:
    """Whether the passage has the sentence, and takes it back nowhere: by a heading such as "Myths", by a
    line that leads in to it, or by what is said before or after it. A quotation is the word of others."""
    sentence = plain_text(markdown)
    places = [*_find(sentence, passage)]
    return (
        0 < len(places) <= MAX_PLACES
        and places[-1] < _find_refuting_heading(passage)
        and any(_is_whole(sentence, at, passage) for at in places)
        and not any(_is_taken_back(sentence, at, passage) for at in places)
    )


def _find(sentence: str, passage: str) -> Iterator[int]:
    """The first places at which the passage has these words."""
    if not sentence.endswith(_SENTENCE_ENDS):
        return
    at = passage.find(sentence)
    for _ in range(MAX_PLACES + 1):
        if at < 0:
            return
        yield at
        at = passage.find(sentence, at + 1)


def _is_whole(sentence: str, at: int, passage: str) -> bool:
    """After a full stop a sentence must begin with a capital letter: the stop may be that of an
    abbreviation."""
    before, after = passage[max(0, at - 2) : at], passage[at + len(sentence) :][:1]
    follows = before[:1] in _SENTENCE_ENDS and before[1:] == " " and sentence[0].isupper()
    begins = follows or _LINE_START.fullmatch(_line_before(at, passage)) is not None
    return begins and after in {"", " ", "\n"}


def _is_taken_back(sentence: str, at: int, passage: str) -> bool:
    before = passage[max(0, at - MAX_AROUND) : at]
    after = passage[at + len(sentence) :][:MAX_AROUND].lstrip()
    return (
        after[:1].islower()
        or _is_quoted(at, passage)
        or _is_led_in(at, passage)
        or any(map(_TAKES_BACK.search, (before, after)))
    )


def _is_quoted(at: int, passage: str) -> bool:
    """Whether a quotation that begins in the same paragraph has not ended."""
    start = max(0, at - MAX_ABOVE)
    paragraph = passage[max(start, passage.rfind("\n\n", start, at)) : at].lstrip()
    if any(line.lstrip().startswith(">") for line in paragraph.split("\n")):
        return True
    # the sign that ends a quotation in German begins one in English
    pairs = ("„“", "»«") if "„" in paragraph or "»" in paragraph else ("“”", "«»")
    opens = any(paragraph.count(pair[0]) > paragraph.count(pair[1]) for pair in pairs)
    return opens or paragraph.count('"') % 2 == 1


def _line_before(at: int, passage: str) -> str:
    return passage[passage.rfind("\n", 0, at) + 1 : at]


@lru_cache(maxsize=32)  # of the sources of a report, each is asked about many sentences
def _find_refuting_heading(passage: str) -> int:
    """Where the first heading ends that takes back what is said below it; the first line counts as one.
    Without any, the end of the passage."""
    at = 0
    for number, line in enumerate(passage.split("\n")):
        is_heading = not number or line.startswith("#")
        if is_heading and _TAKES_BACK.search(line[:MAX_AROUND]):
            return at + min(len(line), MAX_AROUND)
        at += len(line) + 1
    return len(passage)


def _is_led_in(at: int, passage: str) -> bool:
    """Whether a sentence at the start of a line continues the line before, or stands in a list that one
    leads in to."""
    mark = _line_before(at, passage)
    if not _LINE_START.fullmatch(mark):
        return False
    above = passage[max(0, at - len(mark) - MAX_ABOVE) : at - len(mark)].split("\n")[:-1]
    for line in reversed(above):
        if line.strip() and not (mark and _ITEM.match(line)):
            return not line.startswith("#") and not line.rstrip().endswith(_SENTENCE_ENDS)
        if not mark:
            return False  # it begins a paragraph
    return False
