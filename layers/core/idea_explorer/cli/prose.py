"""Markdown as a person reads it on a terminal: lines end between words, links and tables do not get in the
way. A pipe and a file get the Markdown itself."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from idea_explorer.cli.columns import MIN_COLUMNS, count_columns, wrap_line
from idea_explorer.domain.markdown import look_for_code
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import make_printable, unescape_prose

MAX_WIDTH = 100  # columns: longer lines are hard to read
GAP = "  "  # between the columns of a table
MAX_COLUMNS = 50  # rows are padded to the longest, so one endless row would make all others as long
BOLD = "1"
ENDS = (".", ":", "?", "!")
LINK = r"(?<!\\)\[((?:[^\[\]\n\\]|\\.)*)\]\(([^()\s]*)\)"
LINK_OR_CODE = lazy_pattern(rf"`[^`\n]+`|!?{LINK}")
SOURCE = lazy_pattern(rf"(\d+)\. {LINK}")
BAR = lazy_pattern(r"(?<!\\)\|")
HEADING = lazy_pattern(r"#{1,6} +")
ITEM = lazy_pattern(r"[> ]*(?:[-*+] +)?")
EMPHASIS_OR_CODE = lazy_pattern(
    r"`([^`\n]+)`|(?<!\\)(?:\*{1,3}(?=\S)|(?<=\S)\*{1,3}|~~|\b_{1,3}(?=\w)|(?<=\w)_{1,3}\b)"
)


def lay_out(markdown: str, width: int) -> Iterator[tuple[str, str]]:
    """Lines, each with the number of its colour or ""."""
    width = max(MIN_COLUMNS, min(width, MAX_WIDTH))
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
    return LINK_OR_CODE.sub(lambda found: found[0] if found[1] is None else found[1], markdown)


def strip_markup(markdown: str) -> str:
    """The words, for an excerpt on one line: a heading ends in a colon, and an item begins with a dot."""
    lines = drop_link_targets(markdown).split("\n")
    return "\n".join(_strip_line(line) for line in lines if not _is_rule(line))


def _strip_line(line: str) -> str:
    if heading := HEADING.match(line):
        title = line[heading.end() :].rstrip("# ")
        line = title if title.endswith(ENDS) else f"{title}:"
    elif line.startswith("|"):
        line = " · ".join(cell.strip() for cell in BAR.split(line.strip().strip("|")))
    elif (item := ITEM.match(line)) and item.end():
        line = ("· " if item[0].strip(" >") else "") + line[item.end() :]
    return EMPHASIS_OR_CODE.sub(lambda found: found[1] or "", line).strip()


def _name_kinds(lines: Sequence[str]) -> Iterator[str]:
    is_code = look_for_code("\n".join(lines))
    start = 0
    for line in lines:
        yield "code" if is_code(start) else "table" if line.startswith("|") else "text"
        start += len(line) + 1


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
        if label is None:  # code
            return found[0]
        if number := sources.get(target):
            return f"{label} [{number}]"
        return label if not target or target == label else f"{label} <{target}>"

    return LINK_OR_CODE.sub(shorten, text)


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
    widths = [max(count_columns(row[column]) for row in table) for column in range(count)]
    if sum(widths) + len(GAP) * (count - 1) <= width:
        rule = ["─" * size for size in widths]
        for row in (table[0], rule, *table[1:]):
            yield GAP.join(map(_pad, row, widths)).rstrip()
        return
    for number, row in enumerate(table[1:]):
        if number:
            yield ""
        for name, cell in zip(table[0], row, strict=True):
            if cell:
                yield from wrap_line(f"- {name}: {cell}" if name else f"- {cell}", width)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - count_columns(text))
