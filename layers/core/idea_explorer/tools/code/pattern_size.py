"""How large a regular expression becomes when it is compiled, estimated without compiling it.

Repetition is what makes a short pattern large: RE2 writes `a{1,1000}` out a thousand times. The estimate is
linear in the pattern's length, and rather too high than too low.
"""

import re

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.tools.code.word_classes import CLASS_SIZES, MAX_BOUNDARIES

# Instructions for one of each, as RE2 compiles it for UTF-8.
_ANY_CHARACTER = 10
_NEGATED = 15
_RANGE = 3
# Of a class or its negation, whichever is larger.
_UNICODE_CLASS = 300
_LARGE_CLASSES = {
    "L": 1_250, "Ll": 900, "Lo": 1_020, "Lu": 870, "M": 760, "Mc": 450, "Mn": 830, "N": 490,
    "P": 600, "Po": 570, "S": 570, "So": 450, "Common": 420,
}  # fmt: skip

_TOKEN = re.compile(
    r"(?P<quoted>\\Q.*?(?:\\E|\Z))"
    r"|(?P<unicode>\\[pP](?:\{[^}]*\}|.))"
    r"|(?P<class>\\[DSWsw])"
    r"|(?P<code>\\x\{[0-9A-Fa-f]*\})"
    r"|(?P<escape>\\.)"
    r"|(?P<set>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])"
    r"|(?P<count>\{(?P<least>\d{1,9})(?P<comma>,(?P<most>\d{0,9}))?\})"
    r"|(?P<flags>\(\?[a-zA-Z-]*\))"
    r"|(?P<open>\((?:\?P?<[^>]*>|\?[a-zA-Z-]*:)?)"
    r"|(?P<close>\))"
    r"|(?P<repeat>[*+?])"
    r"|(?P<any>\.)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_IN_SET = re.compile(r"\\[pP](?:\{[^}]*\}|.)|\\.|.", re.DOTALL)
_IGNORES_CASE = re.compile(r"\(\?[a-zA-Z]*i")


@dataclass(frozen=True, slots=True)
class PatternSize:
    """`copies` is how many characters and classes there are once repetitions are written out."""

    instructions: int
    copies: int

    def __add__(self, other: "PatternSize") -> "PatternSize":
        return PatternSize(self.instructions + other.instructions, self.copies + other.copies)

    def times(self, count: int) -> "PatternSize":
        # one instruction more for each that may be left out
        return PatternSize((self.instructions + 1) * count, self.copies * count)


_NOTHING = PatternSize(0, 0)


def estimate_size(pattern: str) -> PatternSize:
    """An invalid pattern has some size too."""
    spellings = 2 if _IGNORES_CASE.search(pattern) else 1
    done = [_NOTHING]  # for each group that is open, without its last part
    last = _NOTHING  # what a repetition repeats
    for token in _TOKEN.finditer(pattern):
        match token.lastgroup:
            case "count":
                last = last.times(_times(token))
            case "repeat":
                last = last + PatternSize(1, 0)
            case "open":
                done[-1] += last
                done.append(_NOTHING)
                last = _NOTHING
            case "close" if len(done) > 1:
                last = done.pop() + last + PatternSize(2, 0)
            case kind:
                done[-1] += last
                last = PatternSize(_instructions(str(kind), token[0], spellings), 1)
    boundaries = pattern.count(r"\b")
    if boundaries <= MAX_BOUNDARIES:
        last += PatternSize(CLASS_SIZES[r"\W"] * boundaries, 0)
    return sum(done, last)


def _times(token: re.Match[str]) -> int:
    least, most = int(token["least"]), int(token["most"] or 0)
    return max(least + bool(token["comma"]), most, 1)


def _instructions(kind: str, text: str, spellings: int) -> int:
    match kind:
        case "unicode":
            return _class_size(text)
        case "any":
            return _ANY_CHARACTER
        case "class":
            return CLASS_SIZES.get(text, _NEGATED * spellings)
        case "set":
            is_negated = text.startswith("[^")
            parts = _IN_SET.findall(text[2 if is_negated else 1 : -1])
            inside = sum(_class_size(part) for part in parts) * spellings
            return inside + (_NEGATED if is_negated else 0)
        case _:
            return len(text.encode("utf-8", "replace")) * spellings


def _class_size(text: str) -> int:
    if not text.startswith((r"\p", r"\P")):
        return CLASS_SIZES.get(text, _RANGE)
    return _LARGE_CLASSES.get(text[2:].strip("{}^"), _UNICODE_CLASS)
