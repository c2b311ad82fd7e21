"""What is told in columns, and in lines below each other where the terminal has no room for them."""

import shutil
import sys
import textwrap

NARROW = 60  # columns: below, an indent that lines words up leaves no room for them


def terminal_width() -> int | None:
    """The columns of whoever reads this; None where it goes to a file or another program."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str, width: int | None, indent: int) -> list[str]:
    """The text in lines of this width, broken between words only."""
    if width is None:
        return [text]
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
