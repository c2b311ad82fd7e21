"""Many texts in one buffer, so that one call of the regular expression engine searches them all."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from idea_explorer.domain.code import NOT_KEPT, SnapshotEntry
from idea_explorer.tools.code.patterns import Pattern


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line with a match, and where in the buffer the match begins."""

    entry: SnapshotEntry
    at: int


class TextBuffer:
    """Texts one after the other, each ending in a line feed (its own, or one that was added)."""

    def __init__(self, text: memoryview, entries: Sequence[SnapshotEntry]) -> None:
        self.text = text
        self.entries = entries

    def content(self, entry: SnapshotEntry) -> bytes:
        return bytes(self.text[entry.start : entry.start + entry.size])

    def match_lines(
        self, pattern: Pattern, is_wanted: Callable[[SnapshotEntry], bool]
    ) -> Iterator[LineMatch]:
        """One match for each line. The pattern has to match up to the end of a line, and not beyond."""
        for start, end in self._runs(is_wanted):
            line_end = start - 1
            for span in pattern.finditer(self.text, start, end):
                at = span.start()
                # skip the empty matches at the end of the same line and after the last line
                if line_end < at < end:
                    yield LineMatch(self._entry_at(at), at)
                    line_end = span.end()

    def files_with(self, pattern: Pattern) -> Iterator[SnapshotEntry]:
        """Every file that contains a match."""
        for start, end in self._runs(lambda _: True):
            while found := pattern.search(self.text, start, end):
                entry = self._entry_at(found.start())
                yield entry
                start = self._end(entry)

    def line(self, hit: LineMatch) -> tuple[int, bytes, int]:
        """The number of the line, the line, and where in it the match begins."""
        content = self.content(hit.entry)
        at = hit.at - hit.entry.start
        first = content.rfind(b"\n", 0, at) + 1
        last = content.find(b"\n", at)
        line = content[first : last if last >= 0 else None]
        return content.count(b"\n", 0, at) + 1, line, at - first

    @cached_property
    def _texts(self) -> list[SnapshotEntry]:
        kept = (entry for entry in self.entries if entry.start != NOT_KEPT and entry.size)
        return sorted(kept, key=lambda entry: entry.start)

    @cached_property
    def _starts(self) -> list[int]:
        return [entry.start for entry in self._texts]

    def _entry_at(self, position: int) -> SnapshotEntry:
        return self._texts[bisect_right(self._starts, position) - 1]

    def _end(self, entry: SnapshotEntry) -> int:
        end = entry.start + entry.size
        return end if self.text[end - 1] == ord("\n") else end + 1

    def _runs(self, is_wanted: Callable[[SnapshotEntry], bool]) -> Iterator[tuple[int, int]]:
        """The ranges of wanted texts; adjacent ones are joined."""
        start = end = NOT_KEPT
        for entry in self._texts:
            if not is_wanted(entry):
                continue
            if entry.start != end:
                if start != end:
                    yield start, end
                start = entry.start
            end = self._end(entry)
        if start != end:
            yield start, end
