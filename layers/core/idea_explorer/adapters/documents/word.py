"""DOCX: paragraphs, headings, tables and notes. Word stores where pages ended when it last showed them."""

from collections.abc import Mapping
from typing import IO

from idea_explorer.adapters.documents.output import Output
from idea_explorer.adapters.documents.package import OfficePackage

MAIN = "word/document.xml"
NOTES = ("footnotes", "endnotes")
BREAKS = {"br": "\n", "cr": "\n", "tab": "\t", "noBreakHyphen": "-"}
# A text box is stored twice, for programs old and new.
HIDDEN = frozenset({"Fallback", "del", "moveFrom"})


def read(stream: IO[bytes], output: Output) -> str:
    package = OfficePackage(stream, output)
    main = package.main_part(MAIN)
    pages = _Pages(output)
    package.read(main, pages.start, pages.end, pages.text)
    pages.finish()
    for kind, target in package.targets(main).values():
        if kind in NOTES and package.has(target):
            notes = _Pages(output, label=kind)
            package.read(target, notes.start, notes.end, notes.text)
            notes.finish()
    return ""


class _Pages:
    """Collects the text of one page after the other. Pages have numbers once there is a second one: many
    programs store no page ends, and then nobody knows the pages."""

    def __init__(self, output: Output, label: str = "") -> None:
        self._output = output
        self._label = label
        self._pieces: list[str] = []
        self._length = 0
        self._page = 1
        self._is_text = False
        self._hidden = 0
        self._cells = 0

    def start(self, name: str, values: Mapping[str, str]) -> None:
        if name in HIDDEN or self._hidden:
            self._hidden += 1
        elif name == "t":
            self._is_text = True
        elif name == "lastRenderedPageBreak":
            self._end_page()
        elif name in BREAKS:
            self._add(BREAKS[name])
        elif name == "pStyle":
            self._add(_heading(values.get("val", "")))
        elif name == "tc":
            self._cells += 1
            if self._cells > 1:
                self._end_cell(" | ")
        elif name == "tr":
            self._cells = 0

    def end(self, name: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif name == "t":
            self._is_text = False
        elif name == "p":
            self._add(" " if self._cells else "\n\n")
        elif name == "tr":
            self._cells = 0
            self._end_cell("\n")

    def text(self, text: str) -> None:
        if self._is_text and not self._hidden:
            self._add(text)

    def finish(self) -> None:
        self._flush(self._label or (f"page {self._page}" if self._page > 1 else ""))

    def _add(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self._length += len(text)
        if self._length > self._output.left:
            self.finish()

    def _end_cell(self, text: str) -> None:
        while self._pieces and self._pieces[-1] == " ":
            self._pieces.pop()
        self._add(text)

    def _end_page(self) -> None:
        if not self._label:
            self._flush(f"page {self._page}")
            self._page += 1

    def _flush(self, label: str) -> None:
        text = "".join(self._pieces)
        self._pieces, self._length = [], 0
        self._output.add(label, text)


def _heading(style: str) -> str:
    """`Heading2` is what Word calls the style in every language."""
    level = style.removeprefix("Heading")
    return (
        "#" * int(level) + " " if level in {"1", "2", "3", "4", "5", "6"} and level != style else ""
    )
