"""XLSX: the rows of each sheet as lines, with the values of their cells as a person sees them."""

from collections.abc import Mapping
from typing import IO

from idea_explorer.adapters.documents.cell_formats import BUILT_IN, CellFormat, read_format
from idea_explorer.adapters.documents.output import DamagedError, Output
from idea_explorer.adapters.documents.package import OfficePackage

MAIN = "xl/workbook.xml"
MAX_SHARED_CHARS = 20_000_000
BETWEEN = " | "
MAX_CELL = 32_767  # characters, as in Excel
BOOLEANS = {"0": "FALSE", "1": "TRUE"}


def read(stream: IO[bytes], output: Output) -> str:
    package = OfficePackage(stream, output)
    book = _Book(package, package.main_part(MAIN))
    for name, target in book.sheets:
        if package.has(target):
            sheet = _Sheet(book, output, f"sheet {name}")
            package.read(target, sheet.start, sheet.end, sheet.text)
            sheet.finish()
    return ""


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
        self._value: list[str] = []
        self._kind = self._style = ""
        self._is_value = False

    def start(self, name: str, values: Mapping[str, str]) -> None:
        if name == "c":
            self._kind, self._style = values.get("t", ""), values.get("s", "")
            self._value = []
        # `t` is text that stands in the cell itself
        self._is_value = name in {"v", "t"}

    def end(self, name: str) -> None:
        self._is_value = False
        if name == "c":
            shown = self._book.show("".join(self._value), self._kind, self._style).strip()
            if shown:
                self._row.append(" ".join(shown.split()))
                self._length += len(shown) + len(BETWEEN)
            if self._length > self._output.left:
                self._end_row()
                self.finish()
        elif name == "row":
            self._end_row()

    def text(self, text: str) -> None:
        if self._is_value:
            self._value.append(text)

    def _end_row(self) -> None:
        if self._row:
            self._lines.append(BETWEEN.join(self._row))
            self._row = []

    def finish(self) -> None:
        text = "".join(f"{line}\n" for line in self._lines)
        self._lines, self._length = [], 0
        self._output.add(self._label, text)
