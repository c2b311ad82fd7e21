"""The transcript of an open exploration, as both stores keep it. Loaded where one is opened."""

import zlib
from collections.abc import Callable, Iterable, Sequence

from idea_explorer.domain.transcript import AnyEntry, dump_entry, parse_entry


class LeasedTranscript:
    """A transcript that is read once, when it is opened, and then only appended to.

    `write` stores a compressed entry under its number; it raises LeaseLostError once another worker has
    taken over.
    """

    def __init__(self, compressed: Iterable[bytes], write: Callable[[int, bytes], None]) -> None:
        self._entries = [parse_entry(zlib.decompress(data)) for data in compressed]
        self._write = write

    @property
    def entries(self) -> Sequence[AnyEntry]:
        return tuple(self._entries)

    def append(self, entry: AnyEntry) -> None:
        self._write(len(self._entries), zlib.compress(dump_entry(entry)))
        self._entries.append(entry)
