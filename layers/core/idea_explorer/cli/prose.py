"""Markdown as a person reads it on a terminal: lines end between words, links and tables do not get in the
way. A pipe and a file get the Markdown itself."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from idea_explorer.cli.columns import MIN_COLUMNS, count_columns, wrap_line
from idea_explorer.domain.markdown import find_code, look_for_code
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
EMPHASIS_OR_CODE = lazy_pattern(r"`([^`\n]+)`|\\.|\*+|_+|~+")
# The marks that a run of signs consists of.
EMPHASIS = {
    **{sign * size: (sign * size,) for sign in "*_" for size in (1, 2)},
    **{sign * 3: (sign, sign * 2) for sign in "*_"},
    "~~": ("~~",),
}
# What stands beside a sign of a path or a formula, and hardly ever beside one of emphasis.
NOT_BEFORE, NOT_FIRST = frozenset("/)"), frozenset("/.)")
NOT_AFTER, NOT_LAST = frozenset("/("), frozenset("/(")
MIN_FENCE = 3
BEFORE_FENCE = " \t>-*+0123456789.)"  # quotations and list items may contain code


def lay_out(markdown: str, width: int, *, has_code: bool = True) -> Iterator[tuple[str, str]]:
    """Lines, each with the number of its colour or "". Of a text that is cut into lines, whoever cuts it
    knows which are code: an indented line alone may be an item in a list."""
    width = max(MIN_COLUMNS, min(width, MAX_WIDTH))
    lines = markdown.split("\n")
    sources = _number_sources(lines)
    kinds = _name_kinds(lines, look_for_code(markdown) if has_code else lambda _: False)
    for kind, block in groupby(zip(lines, kinds, strict=True), lambda line: line[1]):
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
    """The words, for an excerpt on one line: a heading ends in a colon, and an item begins with a dot. Code
    stays as it is, without its fences."""
    lines: list[str] = []
    position = 0
    for start, end in find_code(markdown):
        lines += _strip_prose(markdown[position:start])
        lines += _drop_fences(markdown[start:end])
        position = end
    return "\n".join([*lines, *_strip_prose(markdown[position:])])


def find_fence(line: str) -> str:
    """The signs that begin fenced code, or ""."""
    start = line.lstrip(BEFORE_FENCE)
    rest = start.lstrip(start[:1])
    fence = start[: len(start) - len(rest)]
    if len(fence) < MIN_FENCE or fence[0] not in "`~" or (fence[0] == "`" and "`" in rest):
        return ""
    return fence


def ends_fence(line: str, fence: str) -> bool:
    mark = line.strip(" \t\r>")
    return len(mark) >= len(fence) and not mark.strip(fence[0])


class FencedCode:
    """Tells which lines are fenced code, or a fence, as they come one after the other."""

    def __init__(self) -> None:
        self._fence = ""
        self._before = ""  # the signs of the quotation or list item that the code is in

    def takes(self, line: str) -> bool:
        if self._fence and not self._ends_before(line):
            if ends_fence(line, self._fence):
                self._fence = ""
            return True
        self._fence = find_fence(line)
        self._before = line[: len(line) - len(line.lstrip(BEFORE_FENCE))]
        return bool(self._fence)

    def _ends_before(self, line: str) -> bool:
        """Whether the quotation or list item is over, and the code with it."""
        text = line.lstrip()
        if ">" in self._before:
            return not text.startswith(">")
        is_in_item = len(self._before.expandtabs(4)) > 1
        is_outside = bool(text) and not line.startswith(("  ", "\t", " \t"))
        return is_in_item and is_outside and not ends_fence(line, self._fence)


def _drop_fences(code: str) -> list[str]:
    lines = code.removesuffix("\n").split("\n")
    fence = find_fence(lines[0])
    if not fence:
        return lines
    return lines[1:-1] if ends_fence(lines[-1], fence) else lines[1:]


def _strip_prose(text: str) -> Iterator[str]:
    if not text:
        return
    blocks: list[
        list[str]
    ] = []  # emphasis may go on in the next line of the same paragraph or item
    for line in text.removesuffix("\n").split("\n"):
        if _is_rule(line) or _is_break(line):
            continue
        words, begins_block = _strip_line(drop_link_targets(line))
        if begins_block or not blocks:
            blocks.append([])
        blocks[-1].append(words)
    for block in blocks:
        yield _strip_emphasis("\n".join(block))


def _strip_line(line: str) -> tuple[str, bool]:
    """Its words, and whether something other than the line before begins with it."""
    if heading := HEADING.match(line):
        title = _strip_emphasis(_drop_closing_hashes(line[heading.end() :]))
        return title if not title or title.endswith(ENDS) else f"{title}:", True
    if line.startswith("|"):
        cells = BAR.split(line.strip().strip("|"))
        return " · ".join(cell.strip() for cell in cells), True
    item = ITEM.match(line)
    words = line[item.end() :].strip() if item else line.strip()
    if item and item[0].strip(" >"):
        return f"· {words}", True
    return words, not words


def _drop_closing_hashes(title: str) -> str:
    title = title.strip()
    without = title.rstrip("#")
    return without.rstrip() if without.endswith((" ", "\t")) or not without else title


def _strip_emphasis(text: str) -> str:
    """Without the marks that come in pairs, and the marks of code. A mark without another is a sign of the
    text, as in `5*3`, `Price*` and `**/*.py`."""
    parts: list[str] = []
    opened: dict[str, int] = {}  # which part a mark is in
    position = 0
    for found in EMPHASIS_OR_CODE.finditer(text):
        parts += text[position : found.start()], found[1] or found[0]
        position = found.end()
        for mark in EMPHASIS.get(found[0], ()):
            if mark in opened and _can_close(text, found):
                at = opened.pop(mark)
                parts[at] = parts[at].removesuffix(mark)
                parts[-1] = parts[-1].removesuffix(mark)
            elif _can_open(text, found):
                opened[mark] = len(parts) - 1
    return "".join([*parts, text[position:]])


def _can_open(text: str, found: re.Match[str]) -> bool:
    before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
    is_outside = not before.isalnum() and before not in NOT_BEFORE
    return is_outside and bool(after.strip()) and after not in NOT_FIRST


def _can_close(text: str, found: re.Match[str]) -> bool:
    before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 2]
    if after[:1].isalnum() or after[:1] in NOT_AFTER:
        return False
    if after[:1] == "." and after[1:].isalnum():  # `__init__.py`
        return False
    return bool(before.strip()) and before not in NOT_LAST


def _is_break(line: str) -> bool:
    """Whether it is a line across the page."""
    signs = "".join(line.split())
    return len(signs) >= MIN_FENCE and not (signs.strip("*") and signs.strip("_"))


def _name_kinds(lines: Sequence[str], is_code: Callable[[int], bool]) -> Iterator[str]:
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
