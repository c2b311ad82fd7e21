"""Texts of many proposals in one answer, which Lambda ends at 6 MB."""

import json
from collections.abc import Iterator

MAX_BYTES = 5_000_000  # leaves room for everything that is not counted
CUT = "\\ The rest of this diff does not fit into one answer.\n"  # as diffs mark what is no line


class Room:
    """Gives out what is left of an answer."""

    def __init__(self, size: int = MAX_BYTES) -> None:
        self._left = size

    def whole(self, text: str) -> str | None:
        """The text, or nothing where it does not fit."""
        size = _size(text)
        if size > self._left:
            return None
        self._left -= size
        return text

    def cut(self, diff: str) -> str:
        """As many lines as fit, and a note where that is not all."""
        for shorter in _shortened(diff, self._left - _size(CUT)):
            if fits := self.whole(shorter):
                return fits
        return diff and CUT


def _shortened(diff: str, room: int) -> Iterator[str]:
    """The diff, then ever less of it."""
    yield diff
    kept = diff
    while kept and room > 0:
        share = min(0.9, room / _size(kept))
        kept = kept[: int(len(kept) * share)].rpartition("\n")[0]
        yield f"{kept}\n{CUT}" if kept else CUT


def _size(text: str) -> int:
    """Bytes in the answer: JSON, as a text within the JSON that a function returns."""
    body = json.dumps(text, ensure_ascii=False)
    return len(json.dumps(body, ensure_ascii=False).encode())
