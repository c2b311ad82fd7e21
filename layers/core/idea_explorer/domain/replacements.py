"""Replacements in a text, and the line ends of what is written in place of another text.

A model sees neither line ends nor byte order marks, so both stay as they are, line by line.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from idea_explorer.domain.diffs import compare_lines, split_lines
from idea_explorer.domain.redaction import mask_secrets
from idea_explorer.domain.text import pluralize

_CRLF = "\r\n"
_NEAR_LINES = 2  # shown before and after the line that is nearest to what was not found
_COMPARED_CHARS = 200  # of a line; enough to recognise it
_SHOWN_PLACES = 5


class Replacement(NamedTuple):
    old: str
    new: str


class ReplacementError(ValueError):
    """A replacement that does not fit the text; the message says how to correct it."""


class _Splice(NamedTuple):
    start: int
    end: int
    new: str


def replace_in(text: str, replacements: Sequence[Replacement]) -> str:
    """Replace each `old`, which has to be in the text exactly once; raises ReplacementError.

    All of them are looked for in the text as it is, so their order does not matter.
    """
    flat = text.replace(_CRLF, "\n")
    returns = _positions_of_returns(text)
    splices: list[_Splice] = []
    for number, (old, new) in enumerate(replacements, 1):
        start = _find_once(flat, old.replace(_CRLF, "\n"), number)
        end = start + len(old.replace(_CRLF, "\n"))
        # a position in the text is that in `flat` and one more for each return before it
        first = start + bisect_left(returns, start)
        last = end + bisect_left(returns, end)
        default = _line_end_at(text, last)
        splices.append(_Splice(first, last, keep_line_ends(text[first:last], new, default)))
    splices.sort()
    parts: list[str] = []
    position = 0
    for splice in splices:
        if splice.start < position:
            raise ReplacementError("Two replacements overlap: make one of them.")
        parts += [text[position : splice.start], splice.new]
        position = splice.end
    return "".join([*parts, text[position:]])


def keep_line_ends(old: str, new: str, default: str = "") -> str:
    """`new` with the line ends that its lines have in `old`. A new line gets that of the line in whose place
    it is, or of the line before it. A text that names its line ends itself is left as it is."""
    if _CRLF in new or _CRLF not in old + default:
        return new
    before = split_lines(old)
    bare = [line.removesuffix("\n").removesuffix("\r") for line in before]
    ends = [_CRLF if line.endswith(_CRLF) else "\n" for line in before]
    if before and not before[-1].endswith("\n"):
        ends[-1] = default or (ends[-2] if len(ends) > 1 else "\n")
    ends = ends or [default]
    after = split_lines(new)
    lines = [line.removesuffix("\n") for line in after]
    chosen = ["\n"] * len(lines)
    for tag, a, b, c, d in compare_lines(bare, lines):
        for at in range(c, d):
            beside = min(a + at - c, b - 1) if tag != "insert" else max(a - 1, 0)
            chosen[at] = ends[beside]
    return "".join(
        line.removesuffix("\n") + (end if line.endswith("\n") else "")
        for line, end in zip(after, chosen, strict=True)
    )


def _positions_of_returns(text: str) -> list[int]:
    """Where in the text without returns the line feeds are that had one before them."""
    positions: list[int] = []
    at = text.find(_CRLF)
    while at >= 0:
        positions.append(at - len(positions))
        at = text.find(_CRLF, at + 2)
    return positions


def _line_end_at(text: str, position: int) -> str:
    """The end of the line at a position, or of the line before it where it has none."""
    at = text.find("\n", position)
    if at < 0:
        at = text.rfind("\n", 0, position)
    if at < 0:
        return ""
    return _CRLF if text[at - 1 : at] == "\r" else "\n"


def _find_once(text: str, old: str, number: int) -> int:
    start = text.find(old)
    if start < 0:
        raise ReplacementError(
            f"'old' of replacement {number} is not in the file. Copy it from the file exactly,"
            f" without line numbers.{_describe_nearest(text, old)}"
        )
    places = [start]
    while len(places) <= _SHOWN_PLACES and (at := text.find(old, places[-1] + 1)) >= 0:
        places.append(at)
    if len(places) > 1:
        lines = [str(text.count("\n", 0, at) + 1) for at in places[:_SHOWN_PLACES]]
        more = " and more" if len(places) > _SHOWN_PLACES else ""
        raise ReplacementError(
            f"'old' of replacement {number} is in the file more than once, at lines"
            f" {', '.join(lines)}{more}. Add lines around it until it is there exactly once."
        )
    return start


def _describe_nearest(text: str, old: str) -> str:
    """The lines of the text that are most like the longest line of `old`."""
    wanted = _trigrams(max(old.split("\n"), key=lambda line: len(line.strip())))
    lines = text.split("\n")
    scores = [_score(wanted, line) for line in lines]
    best = max(range(len(lines)), key=scores.__getitem__)
    if not scores[best]:
        count = pluralize(len(split_lines(text)), "line")
        return f" Nothing in its {count} is like it: read the file again with read_file."
    first, last = max(best - _NEAR_LINES, 0), min(best + _NEAR_LINES, len(lines) - 1)
    # a key is known by what is around it, so the whole text is masked, and has as many lines
    masked = mask_secrets(text).split("\n")
    shown = "\n".join(f"{n + 1}\t{masked[n][:_COMPARED_CHARS]}" for n in range(first, last + 1))
    return f" The nearest lines are:\n{shown}"


def _score(wanted: set[str], line: str) -> float:
    found = _trigrams(line)
    return len(wanted & found) / max(len(wanted | found), 1)


def _trigrams(line: str) -> set[str]:
    text = line.strip()[:_COMPARED_CHARS]
    return {text[at : at + 3] for at in range(max(len(text) - 2, 1))} if text else set()
