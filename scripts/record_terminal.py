"""Draws what `make demo` shows on a terminal as an SVG: `python -m scripts.record_terminal FILE`.

The lines come from the running program, so the picture stays true: `make screens` draws it again. What
differs from one run to the next is replaced, and of the report only the beginning is drawn.
"""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from html import escape
from itertools import groupby
from pathlib import Path

import pyte
from pyte.screens import Char

ROOT = Path(__file__).parents[1]
IDEA = "A subscription box for urban beekeepers"
COMMAND = ["explore", "--research", "demo", "--if-exists", "run", IDEA]
COLUMNS, ROWS = 120, 200
CHARACTER, LINE, MARGIN, BAR = 8.43, 21, 24, 36  # pixels
SECONDS_A_LINE = 0.18
CALL = ("  →", "  ✓", "  ✗")
TEXT = "    "  # before each line of the report
MAX_TEXT_ROWS = 7
VARYING = {
    re.compile(
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    ): "01a1ea62-5526-77dc-a25a-8e9ed950b7e5",
    re.compile(r"(?<=\()[\d,]+ ms(?=\)$)"): "12 ms",
    re.compile(r"(?<=^demo/ideas/)\d{4}-\d\d-\d\d"): "2026-11-17",
}
Row = list[Char]
COLOURS = {
    "cyan": ("#0a6c8c", "#56c8d8"),
    "green": ("#1a7f37", "#5fd38d"),
    "red": ("#b3261e", "#ff8a80"),
    "brown": ("#8a6100", "#e5c07b"),  # pyte's name for yellow
}
STYLE = """\
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #24292f; white-space: pre; }
.paper { fill: #fbfbfa; stroke: #d0d7de; } .dot { fill: #d0d7de; }
.strong { font-weight: 700; } .prompt { fill: #57606a; }
%s
.line { animation: show .2s both; }
@keyframes show { from { opacity: 0; } }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .paper { fill: #161b22; stroke: #30363d; }
.dot { fill: #30363d; } .prompt { fill: #8b949e; }
%s
}
@media (prefers-reduced-motion: reduce) { .line { animation: none; } }
"""


def record() -> list[Row]:
    """The rows of the screen after the demo, of a person without keys and settings."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples" / "ideas", Path(folder) / "demo" / "ideas")
        size = {"COLUMNS": str(COLUMNS), "LINES": str(ROWS), "TERM": "xterm-256color"}
        home = {"HOME": folder, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        terminal, own = pty.openpty()
        demo = subprocess.Popen(
            [sys.executable, "-m", "idea_explorer", *COMMAND],
            cwd=folder,
            env={**size, **home},
            stdin=own,
            stdout=own,
            stderr=own,
        )
        os.close(own)
        with suppress(OSError):  # how a terminal says that it is over
            while data := os.read(terminal, 65_536):
                stream.feed(data)
        os.close(terminal)
        status = demo.wait()
    if status:
        raise SystemExit(f"The demo failed: {status}")
    rows = [[screen.buffer[y][x] for x in range(COLUMNS)] for y in range(ROWS)]
    while rows and not _text(rows[-1]).strip():
        rows.pop()
    return _shorten_text(_sort_calls([_replace_varying(row) for row in rows]))


def _replace_varying(row: Row) -> Row:
    for pattern, constant in VARYING.items():
        if found := pattern.search(_text(row).rstrip()):
            cells = [row[found.start()]._replace(data=char) for char in constant]
            row = [*row[: found.start()], *cells, *row[found.end() :]]
    return row


def _sort_calls(rows: list[Row]) -> list[Row]:
    """Tools run side by side, so their lines come in any order."""
    by_kind = groupby(rows, key=lambda row: _text(row).startswith(CALL))
    return [
        row
        for is_call, block in by_kind
        for row in (sorted(block, key=_text) if is_call else block)
    ]


def _shorten_text(rows: list[Row]) -> list[Row]:
    shown: list[Row] = []
    for is_text, block in groupby(rows, key=lambda row: _text(row).startswith(TEXT)):
        lines = list(block)
        shown += lines[:MAX_TEXT_ROWS] if is_text else lines
        if is_text and len(lines) > MAX_TEXT_ROWS:
            shown.append([Char(char) for char in f"{TEXT}…"])
    return shown


def draw(rows: list[Row]) -> str:
    width = COLUMNS * CHARACTER + 2 * MARGIN
    height = (len(rows) + 1) * LINE + BAR + MARGIN
    light, dark = (
        " ".join(f".{name} {{ fill: {shades[which]}; }}" for name, shades in COLOURS.items())
        for which in (0, 1)
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img"'
        f' aria-label="The terminal after make demo">\n<style>\n{STYLE % (light, dark)}</style>\n'
        f'<rect class="paper" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1}" rx="8"/>\n'
    )
    dots = "".join(f'<circle class="dot" cx="{MARGIN + 18 * n}" cy="18" r="6"/>' for n in range(3))
    prompt = f'<text class="prompt" x="{MARGIN}" y="{BAR + 14}">$ make demo</text>'
    lines = [_draw_line(number, row) for number, row in enumerate(rows, 1)]
    return "\n".join([head + dots, prompt, *lines, "</svg>\n"])


def _draw_line(number: int, row: Row) -> str:
    spans = "".join(_draw_spans(row))
    delay = f"animation-delay: {number * SECONDS_A_LINE:.2f}s"
    return f'<text class="line" x="{MARGIN}" y="{BAR + 14 + number * LINE}" style="{delay}">{spans}</text>'


def _draw_spans(row: Row) -> Iterator[str]:
    used = row[: len(_text(row).rstrip())]
    for (colour, is_bold), cells in groupby(used, key=lambda cell: (cell.fg, cell.bold)):
        names = [name for name in (colour if colour in COLOURS else "", "strong" * is_bold) if name]
        shown = escape("".join(cell.data for cell in cells), quote=False)
        yield f'<tspan class="{" ".join(names)}">{shown}</tspan>' if names else shown


def _text(row: Row) -> str:
    return "".join(cell.data for cell in row)


def main() -> int:
    Path(sys.argv[1]).write_text(draw(record()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
