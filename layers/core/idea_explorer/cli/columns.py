"""The columns of a terminal: how many it has, how many a text takes, and where its lines end."""

import os
import unicodedata
from collections.abc import Iterator
from itertools import accumulate
from typing import TextIO

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import make_printable

DEFAULT_COLUMNS = 80
MIN_COLUMNS = 20  # with fewer, an indent leaves no room for words
# Chinese and Japanese, which have no spaces between words: a line may end after each of these
IDEOGRAPHS = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
SIGNS_AFTER = "\u3001\u3002\u3009\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff1a\uff1b\uff1f"
# Spaces, an ideograph, or a word. A command is one word, because it is copied whole.
PIECE = lazy_pattern(
    rf"\s+|[{IDEOGRAPHS}][{SIGNS_AFTER}]*|(?:(?<=: )idea .*|`[^`]*`|[^\s`{IDEOGRAPHS}]+|`)+"
)
# the spaces, and the sign of a list item, a quotation, a heading or a step, before the first word
LINE_START = lazy_pattern(r"[ >]*(?:(?:[-*+→✓✗…·?]|\d+[.)]|\[\d+\]|#{1,6}) +)?")


def read_columns() -> int:
    """As many as COLUMNS says; 0 if it says nothing."""
    value = os.environ.get("COLUMNS", "")
    return int(value) if value.isascii() and value.isdecimal() else 0


def columns_of(stream: TextIO | None) -> int | None:
    """Those of a terminal; None for anything else."""
    try:
        found = os.get_terminal_size(stream.fileno()).columns  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        return None
    return read_columns() or found or DEFAULT_COLUMNS


def count_columns(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_count_one, text))


def _count_one(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0  # drawn upon the character before it
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def cut(text: str, width: int) -> str:
    """The beginning of a text that is on one line, with "…" where something is missing."""
    if count_columns(text) <= width:
        return text
    ends = accumulate(map(_count_one, text))
    fitting = sum(1 for end in ends if end < width)
    return text[:fitting].rstrip() + "…"


def wrap_line(line: str, width: int) -> list[str]:
    """Broken between words, below the first word of a list item or a quotation."""
    line = make_printable(line)
    start = LINE_START.match(line)
    indent = start.end() if start else 0
    if width - indent < MIN_COLUMNS:
        return [line]
    rest = line[:indent] if ">" in line[:indent] else " " * count_columns(line[:indent])
    return wrap(line[indent:], width, line[:indent], rest)


def fit_page(page: str, width: int) -> str:
    """A page that was written for DEFAULT_COLUMNS, on a terminal that may have fewer. What stands beside a
    term then stands below it."""
    if width >= DEFAULT_COLUMNS:
        return page
    paragraphs: list[str] = []
    for line in page.split("\n"):
        is_item = line.startswith("  ") and not line.startswith("   ")
        if not line or is_item or not (paragraphs and paragraphs[-1]):
            paragraphs.append(line)
        else:
            paragraphs[-1] += f" {line.strip()}"
    return "\n".join(line for paragraph in paragraphs for line in _fit_paragraph(paragraph, width))


def _fit_paragraph(paragraph: str, width: int) -> list[str]:
    if not paragraph.startswith("  "):
        return wrap(paragraph, width)
    term, gap, text = paragraph.strip().partition("   ")
    below = " " * 6
    if gap and len(term) < len(below) - 2:
        return wrap(text.strip(), width, f"  {term}".ljust(len(below)), below)
    # a command is copied whole
    lines = [f"  {term}"] if term.startswith("idea ") else wrap(term, width, "  ", " " * 5)
    return [*lines, *(wrap(text.strip(), width, below, below) if gap else [])]


def wrap(text: str, width: int | None, first: str = "", rest: str = "") -> list[str]:
    """The text in lines of at most so many columns, broken between words only and never in a command; one
    line where there is no width. `first` stands before the first line, `rest` before the others."""
    text = make_printable(text)
    if width is None or count_columns(first) + count_columns(text) <= width:
        return [first + text]
    return list(_break(text, width, first, rest))


def _break(text: str, width: int, first: str, rest: str) -> Iterator[str]:
    line, used, gap = [first], count_columns(first), ""
    is_empty = True
    for found in PIECE.finditer(text):
        piece = found[0]
        if piece.isspace():
            gap = "" if is_empty else piece
            continue
        size = count_columns(piece)
        if not is_empty and used + len(gap) + size > width:
            yield "".join(line)
            line, used, gap = [rest], count_columns(rest), ""
        line += gap, piece
        used += len(gap) + size
        gap, is_empty = "", False
    yield "".join(line)
