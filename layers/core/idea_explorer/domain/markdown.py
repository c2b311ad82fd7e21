"""Where a markdown text is code and where its headings are, found in time that grows with its length.

A model wrote the text, so nothing about it can be relied on. Each expression reads a line from its
start and never goes back over what it has read.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Span = tuple[int, int]

BOLD_LINE = 7  # the level of a line in bold, which stands below every heading
MAX_FRONT_MATTER = 65_536

_FENCE = re.compile(
    r"^(?P<before>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$",
    re.MULTILINE,
)
_CLOSING = r"[ \t>]*(?P<fence>`{3,}|~{3,})[ \t\r]*$"
# What ends fenced code: the fence again, or a line outside of the quotation or list item it is in.
_ENDS = re.compile(rf"^{_CLOSING}", re.MULTILINE)
_ENDS_IN_QUOTE = re.compile(rf"^(?:{_CLOSING}|(?![ \t]*>))", re.MULTILINE)
_ENDS_IN_ITEM = re.compile(rf"^(?:{_CLOSING}| ?(?=[^ \t\n]))", re.MULTILINE)
_INDENTED = re.compile(
    r"(?:\A|(?<=\n)[ \t\r]*\n)(?P<code>(?: {4}| {0,3}\t)[^\n]*\n?(?:(?: {4}| {0,3}\t)[^\n]*\n?|[ \t\r]*\n)*)"
)
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]|  |\t")
_ATX = re.compile(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>[^\n]*))?$", re.MULTILINE)
_SETEXT = re.compile(
    r"^ {0,3}(?P<title>[^\s#>|+*-][^\n]*)\n {0,3}(?P<line>=+|-{2,})[ \t\r]*$", re.MULTILINE
)
_BOLD = re.compile(
    r"^ {0,3}(?:\d{1,3}[.)][ \t]+)?(?P<mark>\*\*|__)(?P<title>[^*_\n]{1,200})(?P=mark)(?P<rest>[^\n]*)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; one in bold that goes on with text on its line is `run_in`."""

    level: int
    title: str
    start: int
    end: int
    run_in: bool = False


def find_code(text: str) -> list[Span]:
    """Front matter, fenced code and indented code, in order and apart from one another."""
    spans: list[Span] = []
    fenced = [(start, end) for start, end, _ in _fenced(text, _front_matter(text))]
    outside = _gaps(fenced, len(text))
    for start, end in outside:
        spans += _indented(text, start, end)
    return sorted([*fenced, *spans])


def find_prose(text: str) -> list[Span]:
    """What is not code."""
    return _gaps(find_code(text), len(text))


def close_code(text: str) -> str:
    """The text with a fence at its end where code was left open, so that what is added is no part of it."""
    fenced = _fenced(text, _front_matter(text))
    missing = fenced[-1][2] if fenced else ""
    return f"{text}\n{missing}" if missing else text


def find_headings(text: str) -> list[Heading]:
    """Every heading outside of code, in order, also those that are only a line in bold."""
    code = find_code(text)
    starts = [start for start, _ in code]

    def is_code(position: int) -> bool:
        before = bisect_right(starts, position) - 1
        return before >= 0 and position < code[before][1]

    found = [*_atx(text), *_setext(text), *_bold(text)]
    return sorted((h for h in found if not is_code(h.start)), key=lambda heading: heading.start)


def _atx(text: str) -> Iterator[Heading]:
    for match in _ATX.finditer(text):
        title = (match["title"] or "").strip().rstrip("#").strip()
        yield Heading(len(match["marks"]), title, match.start(), match.end())


def _setext(text: str) -> Iterator[Heading]:
    for match in _SETEXT.finditer(text):
        level = 1 if match["line"].startswith("=") else 2
        yield Heading(level, match["title"].strip(), match.start(), match.end())


def _bold(text: str) -> Iterator[Heading]:
    for match in _BOLD.finditer(text):
        run_in = bool(match["rest"].strip(" \t\r:"))
        title = match["title"].strip()
        yield Heading(BOLD_LINE, title, match.start(), match.end(), run_in)


def _front_matter(text: str) -> int:
    """Where front matter at the very beginning ends; 0 where there is none."""
    if not text.startswith("---\n"):
        return 0
    end = text.find("\n---\n", 3, MAX_FRONT_MATTER)
    return end + 5 if end >= 0 else 0


def _fenced(text: str, begin: int) -> list[tuple[int, int, str]]:
    """Fenced code, each with the fence that is missing where it was never closed."""
    spans = [(0, begin, "")] if begin else []
    position = begin
    while opening := _FENCE.search(text, position):
        position, missing = _fence_end(text, opening)
        spans.append((opening.start(), position, missing))
    return spans


def _fence_end(text: str, opening: re.Match[str]) -> tuple[int, str]:
    """After the fence that closes, or where the quotation or list item ends in which it was opened."""
    mark, before = opening["fence"], opening["before"]
    ends = _ENDS
    if ">" in before:
        ends = _ENDS_IN_QUOTE
    elif len(before.expandtabs(4)) > 1:
        ends = _ENDS_IN_ITEM
    for end in ends.finditer(text, opening.end() + 1):
        closing = end["fence"]
        if closing is None:
            return end.start(), ""
        if closing[0] == mark[0] and len(closing) >= len(mark):
            return min(end.end() + 1, len(text)), ""
    return len(text), mark if ends is _ENDS else ""


def _indented(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _INDENTED.finditer(text, start, end):
        begin = match.start("code")
        before = _line_before(text, begin)
        # after a list item it belongs to the list
        if before is None or not _ITEM.match(text, before):
            yield begin, match.end("code")


def _line_before(text: str, position: int) -> int | None:
    """Where the last line begins that is not blank; None where there is none."""
    end = position - 1
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        if not text[start:end].isspace() and start < end:
            return start
        end = start - 1
    return None


def _gaps(spans: Sequence[Span], length: int) -> list[Span]:
    gaps: list[Span] = []
    position = 0
    for start, end in spans:
        if start > position:
            gaps.append((position, start))
        position = max(position, end)
    if position < length:
        gaps.append((position, length))
    return gaps
