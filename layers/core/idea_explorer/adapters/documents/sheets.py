"""XLSX: the rows of each sheet as lines, with the values of their cells as a person sees them."""

from collections.abc import Mapping
from typing import IO

from idea_explorer.adapters.documents.cell_formats import BUILT_IN, CellFormat, read_format
from idea_explorer.adapters.documents.output import DamagedError, Output
from idea_explorer.adapters.documents.package import OfficePackage

MAIN = "xl/workbook.xml"
MAX_SHARED_CHARS = 20_000_000
BETWEEN = " | "
MAX_EMPTY = (
    20  # cells before a value that are written; a value after more has the name of its column
)
MAX_COLUMN_NAME = 3  # letters
MAX_CELL = 32_767  # characters, as in Excel
BOOLEANS = {"0": "FALSE", "1": "TRUE"}


def read(stream: IO[bytes], output: Output) -> str:
    package = OfficePackage(stream, output)
    book = _Book(package, package.main_part(MAIN))
    unvalued = 0
    for name, target in book.sheets:
        if package.has(target):
            sheet = _Sheet(book, output, f"sheet {name}")
            package.read(target, sheet.start, sheet.end, sheet.text)
            sheet.finish()
            unvalued += sheet.unvalued
    if not unvalued:
        return ""
    cells = "1 cell holds" if unvalued == 1 else f"{unvalued:,} cells hold"
    return f"{cells} a formula without a stored value; the formula is shown instead"


class _Book:
    """What all sheets share."""

    def __init__(self, package: OfficePackage, main: str) -> None:
        self.uses_1904 = False
        self.strings: list[str] = []
        self.formats: dict[str, CellFormat] = {}  # by style
        named: list[tuple[str, str]] = []

        def start(element: str, values: Mapping[str, str]) -> None:
            if element == "sheet":
                named.append((values.get("name", ""), values.get("r:id", "")))
            elif element == "workbookPr":
                self.uses_1904 = values.get("date1904") in {"1", "true"}

        package.read(main, start)
        targets = package.targets(main)
        self.sheets = [(name, targets[i][1]) for name, i in named if i in targets]
        for kind, target in targets.values():
            if kind == "sharedStrings" and package.has(target):
                self._read_strings(package, target)
            elif kind == "styles" and package.has(target):
                self._read_styles(package, target)

    def _read_strings(self, package: OfficePackage, part: str) -> None:
        pieces: list[str] = []
        is_text = is_reading = False
        length = 0

        def start(name: str, _: Mapping[str, str]) -> None:
            nonlocal is_text, is_reading
            is_text = name == "t" and not is_reading
            is_reading = is_reading or name == "rPh"  # how a text is pronounced, in Japanese

        def end(name: str) -> None:
            nonlocal is_text, is_reading
            is_text = False
            if name == "rPh":
                is_reading = False
            elif name == "si":
                self.strings.append("".join(pieces)[:MAX_CELL])
                pieces.clear()

        def add(text: str) -> None:
            nonlocal length
            if is_text:
                length += len(text)
                if length > MAX_SHARED_CHARS:
                    raise DamagedError("holds too much text to read")
                pieces.append(text)

        package.read(part, start, end, add)

    def _read_styles(self, package: OfficePackage, part: str) -> None:
        known = {str(number): read_format(code) for number, code in BUILT_IN.items()}
        is_used, style = False, 0

        def start(name: str, values: Mapping[str, str]) -> None:
            nonlocal is_used, style
            if name == "numFmt":
                known[values.get("numFmtId", "")] = read_format(values.get("formatCode", ""))
            elif name == "cellXfs":
                is_used = True
            elif name == "xf" and is_used:
                if found := known.get(values.get("numFmtId", "")):
                    self.formats[str(style)] = found
                style += 1

        def end(name: str) -> None:
            nonlocal is_used
            is_used = is_used and name != "cellXfs"

        package.read(part, start, end)

    def show(self, value: str, kind: str, style: str) -> str:
        """The value of a cell as a person sees it."""
        if kind == "s":
            number = int(value) if value.isdecimal() and len(value) < 10 else -1
            return self.strings[number] if 0 <= number < len(self.strings) else ""
        if kind == "b":
            return BOOLEANS.get(value, value)
        if kind in {"", "n"} and (shown_as := self.formats.get(style)):
            return shown_as.show(value, uses_1904=self.uses_1904)
        return value


class _Sheet:
    def __init__(self, book: _Book, output: Output, label: str) -> None:
        self._book = book
        self._output = output
        self._label = label
        self._lines: list[str] = []
        self._length = 0
        self._row: list[str] = []
        self._column = self._filled = 0  # of the cell, from 1, and of the last value before it
        self._name = ""
        self._value: list[str] = []
        self._formula: list[str] = []
        self._kind = self._style = ""
        self._is_value = self._is_formula = self._has_formula = False
        self.unvalued = 0  # cells with a formula that no program has computed yet

    def start(self, name: str, values: Mapping[str, str]) -> None:
        if name == "c":
            self._kind, self._style = values.get("t", ""), values.get("s", "")
            self._name = _read_column(values.get("r", ""))
            self._column = _count_column(self._name) or self._column + 1
            self._value, self._formula, self._has_formula = [], [], False
        # `t` is text that stands in the cell itself
        self._is_value = name in {"v", "t"}
        self._is_formula = name == "f"
        self._has_formula = self._has_formula or self._is_formula

    def end(self, name: str) -> None:
        self._is_value = self._is_formula = False
        if name == "c":
            shown = self._book.show("".join(self._value), self._kind, self._style).strip()
            if self._has_formula and not self._value:
                # one that is shared with other cells is written out in the first of them only
                shown = f"={''.join(self._formula)[:MAX_CELL]}" if self._formula else "(formula)"
                self.unvalued += 1
            if shown:
                self._add(" ".join(shown.split()))
            if self._length > self._output.left:
                self._end_row()
                self.finish()
        elif name == "row":
            self._end_row()

    def text(self, text: str) -> None:
        if self._is_value:
            self._value.append(text)
        elif self._is_formula:
            self._formula.append(text)

    def _add(self, shown: str) -> None:
        empty = max(0, self._column - self._filled - 1)
        if empty > MAX_EMPTY:
            empty, shown = 0, f"{self._name}: {shown}"
        self._row += [*[""] * empty, shown]
        self._filled = self._column
        self._length += len(shown) + len(BETWEEN) * (empty + 1)

    def _end_row(self) -> None:
        if self._row:
            self._lines.append(BETWEEN.join(self._row).strip())
            self._row = []
        self._column = self._filled = 0

    def finish(self) -> None:
        text = "".join(f"{line}\n" for line in self._lines)
        self._lines, self._length = [], 0
        self._output.add(self._label, text)


def _read_column(reference: str) -> str:
    """`XFD` of `XFD1`."""
    name = reference[:MAX_COLUMN_NAME].rstrip("0123456789")
    return name if name.isascii() and name.isalpha() and name.isupper() else ""


def _count_column(name: str) -> int:
    """`A` is 1; 0 without a name, as a cell may have none and follows the one before it."""
    number = 0
    for letter in name:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
