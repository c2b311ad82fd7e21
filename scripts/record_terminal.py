"""Draws what `make demo` shows on a terminal as an SVG: `python -m scripts.record_terminal FILE`.

The lines come from the running program, so the picture stays true: `make screens` draws it again.
"""

import os
import pty
import shutil
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
COLUMNS, ROWS = 116, 80
CHARACTER, LINE, MARGIN, BAR = 8.43, 21, 24, 36  # pixels
SECONDS_A_LINE = 0.18
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


def record() -> list[list[Char]]:
    """The rows of the screen after the demo, of a person without keys and settings."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples" / "ideas", Path(folder) / "demo" / "ideas")
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(folder)
            size = {"COLUMNS": str(COLUMNS), "LINES": str(ROWS), "TERM": "xterm-256color"}
            home = {"HOME": folder, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
            arguments = [sys.executable, "-m", "idea_explorer", *COMMAND]
            os.execve(sys.executable, arguments, {**size, **home})
        with suppress(OSError):  # how a terminal says that it is over
            while data := os.read(terminal, 65_536):
                stream.feed(data)
        _, status = os.waitpid(process, 0)
    if status:
        raise SystemExit(f"The demo failed: {os.waitstatus_to_exitcode(status)}")
    rows = [[screen.buffer[y][x] for x in range(COLUMNS)] for y in range(ROWS)]
    while rows and not _text(rows[-1]).strip():
        rows.pop()
    return rows


def draw(rows: list[list[Char]]) -> str:
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


def _draw_line(number: int, row: list[Char]) -> str:
    spans = "".join(_draw_spans(row))
    delay = f"animation-delay: {number * SECONDS_A_LINE:.2f}s"
    return f'<text class="line" x="{MARGIN}" y="{BAR + 14 + number * LINE}" style="{delay}">{spans}</text>'


def _draw_spans(row: list[Char]) -> Iterator[str]:
    used = row[: len(_text(row).rstrip())]
    for (colour, is_bold), cells in groupby(used, key=lambda cell: (cell.fg, cell.bold)):
        names = [name for name in (colour if colour in COLOURS else "", "strong" * is_bold) if name]
        shown = escape("".join(cell.data for cell in cells), quote=False)
        yield f'<tspan class="{" ".join(names)}">{shown}</tspan>' if names else shown


def _text(row: list[Char]) -> str:
    return "".join(cell.data for cell in row)


def main() -> int:
    Path(sys.argv[1]).write_text(draw(record()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
