"""Markdown as a person reads it on a terminal: lines end between words, links and tables do not get in the
way. A pipe and a file get the Markdown itself."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import make_printable, unescape_prose

MAX_WIDTH = 100  # columns: longer lines are hard to read
MIN_WIDTH = 20  # columns: with fewer, an indent leaves no room for words
GAP = "  "  # between the columns of a table
MAX_COLUMNS = 50  # rows are padded to the longest, so one endless row would make all others as long
BOLD = "1"
LINK = lazy_pattern(r"(?<!\\)\[((?:[^\[\]\n\\]|\\.)*)\]\(([^()\s]*)\)")
SOURCE = lazy_pattern(rf"(\d+)\. {LINK.pattern}")
LINE_START = lazy_pattern(r"[ >]*(?:(?:[-*+]|\d+[.)]|#{1,6}) +)?")
BAR = lazy_pattern(r"(?<!\\)\|")


def lay_out(markdown: str, width: int) -> Iterator[tuple[str, str]]:
    """Lines, each with the number of its colour or ""."""
    width = max(MIN_WIDTH, min(width, MAX_WIDTH))
    lines = markdown.split("\n")
    sources = _number_sources(lines)
    for kind, block in groupby(zip(lines, _name_kinds(lines), strict=True), lambda line: line[1]):
        rows = [line for line, _ in block]
        if kind == "table":
            cells = [_split(_shorten_links(row, sources)) for row in rows if not _is_rule(row)]
            yield from ((line, "") for line in _lay_out_table(cells, width))
        elif kind == "code":
            yield from ((line, "") for line in rows)
        else:
            for line in rows:
                text = _shorten_links(line, {} if SOURCE.match(line) else sources)
                colour = BOLD if line.startswith("#") else ""
                yield from ((part, colour) for part in wrap_line(unescape_prose(text), width))


def drop_link_targets(markdown: str) -> str:
    return LINK.sub(r"\1", markdown)


def wrap(text: str, width: int | None, indent: int) -> list[str]:
    """The text in lines of this width, broken between words only; one line where there is no width."""
    if width is None:
        return [text]
    return _wrap(make_printable(text), width, "", " " * indent)


def wrap_line(line: str, width: int) -> list[str]:
    """Broken between words, below the first word of a list item or a quotation."""
    line = make_printable(line)
    start = LINE_START.match(line)
    indent = len(start[0]) if start else 0
    if len(line) <= width or width - indent < MIN_WIDTH:
        return [line]
    rest = " " * indent if ">" not in line[:indent] else line[:indent]
    return _wrap(line[indent:], width, line[:indent], rest)


def _wrap(text: str, width: int, first: str, rest: str) -> list[str]:
    """Takes printable text: some of the rest would count as space and be lost."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _name_kinds(lines: Sequence[str]) -> Iterator[str]:
    fence = ""
    for line in lines:
        mark = line.lstrip()[:3]
        if fence:
            yield "code"
            fence = "" if mark == fence else fence
        elif mark in {"```", "~~~"}:
            fence = mark
            yield "code"
        else:
            yield "table" if line.startswith("|") else "text"


def _number_sources(lines: Sequence[str]) -> dict[str, str]:
    """The numbers that the list of sources gives to what is linked. It is the last part of a report."""
    numbers: dict[str, str] = {}
    for line in reversed(lines):
        if found := SOURCE.match(line):
            numbers[found[3]] = found[1]
        elif line.startswith("#"):
            break
    return numbers


def _shorten_links(text: str, sources: Mapping[str, str]) -> str:
    def shorten(found: re.Match[str]) -> str:
        label, target = found.groups()
        if number := sources.get(target):
            return f"{label} [{number}]"
        return label if not target or target == label else f"{label} <{target}>"

    return LINK.sub(shorten, text)


def _is_rule(row: str) -> bool:
    return "-" in row and not row.strip(" :|-")


def _split(row: str) -> list[str]:
    cells = BAR.split(make_printable(row).strip().removeprefix("|").removesuffix("|"))
    return [unescape_prose(" ".join(cell.split())) for cell in cells]


def _lay_out_table(cells: list[list[str]], width: int) -> Iterator[str]:
    """In columns where they fit, else one line for each cell."""
    if not cells:
        return
    head, *body = cells
    count = max(map(len, cells))
    if not body or count > MAX_COLUMNS:  # lines that only look like a table
        for row in cells:
            yield from wrap_line(GAP.join(row), width)
        return
    table = [row + [""] * (count - len(row)) for row in (head, *body)]
    widths = [max(len(row[column]) for row in table) for column in range(count)]
    if sum(widths) + len(GAP) * (count - 1) <= width:
        rule = ["─" * size for size in widths]
        for row in (table[0], rule, *table[1:]):
            yield GAP.join(
                f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True)
            ).rstrip()
        return
    for number, row in enumerate(table[1:]):
        if number:
            yield ""
        for name, cell in zip(table[0], row, strict=True):
            if cell:
                yield from wrap_line(f"- {name}: {cell}" if name else f"- {cell}", width)
