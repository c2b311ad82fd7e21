"""Find code and headings in a markdown text, in linear time.

A model wrote the text, so it may be malformed in any way. Each expression reads a line from its start and
never backtracks.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from idea_explorer.domain.front_matter import find_front_matter_end
from idea_explorer.domain.patterns import lazy_pattern

Span = tuple[int, int]

SHARED_TEXTS = 8  # whose parts are kept: several checks read the same report, one after the other

BOLD_LINE = 7  # the level of a line in bold, below every heading

_FENCE = lazy_pattern(
    r"^(?P<before>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$",
    re.MULTILINE,
)
_CLOSING = r"[ \t>]*(?P<fence>`{3,}|~{3,})[ \t\r]*$"
# Fenced code ends with a closing fence, or with the quotation or list item it is in.
_ENDS = lazy_pattern(rf"^{_CLOSING}", re.MULTILINE)
_ENDS_IN_QUOTE = lazy_pattern(rf"^(?:{_CLOSING}|(?![ \t]*>))", re.MULTILINE)
_ENDS_IN_ITEM = lazy_pattern(rf"^(?:{_CLOSING}| ?(?=[^ \t\n]))", re.MULTILINE)
_INDENTED = lazy_pattern(
    r"(?:\A|(?<=\n)[ \t\r]*\n)(?P<code>(?: {4}| {0,3}\t)[^\n]*\n?(?:(?: {4}| {0,3}\t)[^\n]*\n?|[ \t\r]*\n)*)"
)
_ITEM = lazy_pattern(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]|  |\t")
_ATX = lazy_pattern(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>[^\n]*))?$", re.MULTILINE)
_SETEXT = lazy_pattern(
    r"^ {0,3}(?P<title>[^\s#>|+*-][^\n]*)\n {0,3}(?P<line>=+|-{2,})[ \t\r]*$", re.MULTILINE
)
_BOLD = lazy_pattern(
    r"^ {0,3}(?:\d{1,3}[.)][ \t]+)?(?P<mark>\*\*|__)(?P<title>[^*_\n]{1,200})(?P=mark)(?P<rest>[^\n]*)$",
    re.MULTILINE,
)

_OPENING = lazy_pattern(r"\]\(|<!--|`")
_CLOSING_OF = {"](": ")", "<!--": "-->", "`": "`"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. A `run_in` heading is in bold, followed by text on the same line."""

    level: int
    title: str
    start: int
    end: int
    run_in: bool = False


@lru_cache(maxsize=SHARED_TEXTS)
def find_code(text: str) -> tuple[Span, ...]:
    """Front matter, fenced code and indented code, in order and without overlap."""
    fenced = [(start, end) for start, end, _ in _find_fenced(text, find_front_matter_end(text))]
    indented = (span for gap in _gaps(fenced, len(text)) for span in _find_indented(text, *gap))
    return tuple(sorted([*fenced, *indented]))


def look_for_code(text: str) -> Callable[[int], bool]:
    """Tells whether a position of the text is in code."""
    code = find_code(text)
    starts = [start for start, _ in code]

    def is_code(position: int) -> bool:
        before = bisect_right(starts, position) - 1
        return before >= 0 and position < code[before][1]

    return is_code


def find_prose(text: str) -> list[Span]:
    return _gaps(find_code(text), len(text))


def close_code(text: str) -> str:
    """Close a code block left open at the end, so that text added after it is not code."""
    fenced = _find_fenced(text, find_front_matter_end(text))
    missing = fenced[-1][2] if fenced else ""
    return f"{text}\n{missing}" if missing else text


def remove_markup(text: str) -> str:
    """Replace link targets, comments and code spans by spaces. One that never ends is text."""
    if not any(opening in text for opening in _CLOSING_OF):
        return text
    parts: list[str] = []
    position = 0
    unclosed: set[str] = set()  # what was looked for up to the end, so that nobody looks again
    for opening in _OPENING.finditer(text):
        closing = _CLOSING_OF[opening[0]]
        if opening.start() < position or closing in unclosed:
            continue
        end = text.find(closing, opening.end())
        if end < 0:
            unclosed.add(closing)
            continue
        parts.append(text[position : opening.start()])
        position = end + len(closing)
    return " ".join([*parts, text[position:]])


@lru_cache(maxsize=SHARED_TEXTS)
def find_headings(text: str) -> tuple[Heading, ...]:
    """Every heading outside of code, in order, including lines in bold."""
    is_code = look_for_code(text)
    found = [*_find_atx(text), *_find_setext(text), *_find_bold(text)]
    outside = (heading for heading in found if not is_code(heading.start))
    return tuple(sorted(outside, key=lambda heading: heading.start))


def _find_atx(text: str) -> Iterator[Heading]:
    for match in _ATX.finditer(text):
        title = (match["title"] or "").strip().rstrip("#").strip()
        yield Heading(len(match["marks"]), title, match.start(), match.end())


def _find_setext(text: str) -> Iterator[Heading]:
    for match in _SETEXT.finditer(text):
        level = 1 if match["line"].startswith("=") else 2
        yield Heading(level, match["title"].strip(), match.start(), match.end())


def _find_bold(text: str) -> Iterator[Heading]:
    for match in _BOLD.finditer(text):
        run_in = bool(match["rest"].strip(" \t\r:"))
        title = match["title"].strip()
        yield Heading(BOLD_LINE, title, match.start(), match.end(), run_in)


def _find_fenced(text: str, begin: int) -> list[tuple[int, int, str]]:
    """Fenced code, each with its missing closing fence, or ""."""
    spans = [(0, begin, "")] if begin else []
    position = begin
    while opening := _FENCE.search(text, position):
        position, missing = _fence_end(text, opening)
        spans.append((opening.start(), position, missing))
    return spans


def _fence_end(text: str, opening: re.Match[str]) -> tuple[int, str]:
    """The end of the closing fence, or of the quotation or list item around the code."""
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


def _find_indented(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _INDENTED.finditer(text, start, end):
        begin = match.start("code")
        before = _line_before(text, begin)
        # after a list item, indented text belongs to the item
        if before is None or not _ITEM.match(text, before):
            yield begin, match.end("code")


def _line_before(text: str, position: int) -> int | None:
    """The start of the last line before a position that is not blank, if there is one."""
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
