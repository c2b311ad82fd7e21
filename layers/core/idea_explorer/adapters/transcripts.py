"""The transcript of an open exploration, as both stores keep it. Loaded where one is opened."""

import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from idea_explorer.domain.errors import LeaseLostError
from idea_explorer.domain.events import AnyEvent, TextDelta, ThinkingDelta
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.domain.transcript_json import dump_entry, parse_entry

MAX_DELTA = (
    50_000  # characters of one event; more is collected only while a store cannot be reached
)
COMPRESSION = 1  # a quarter of the time that zlib takes otherwise, for a sixth more bytes
# Most entries have a few hundred bytes. With zlib's own window and tables, which are 256 KB, clearing those
# takes ten times as long as compressing such an entry; with these a large one has 1.5 % more bytes.
WINDOW_BITS = 13
MEMORY_LEVEL = 7


@dataclass(frozen=True, slots=True)
class Batch:
    """What is stored in one transaction: compressed entries from a number on, events and the record."""

    number: int
    entries: Sequence[bytes]
    events: Sequence[AnyEvent]
    record: Exploration | None


class LeasedTranscript:
    """A transcript that is read once, when it is opened, and then only added to.

    `write` stores a batch, all or nothing; it raises LeaseLostError once another worker has taken over. After
    an ExternalError nobody knows whether it has stored the batch, so `flush` makes the same call, with the
    same object, before another one: a store can tell that it has seen it.
    """

    def __init__(self, compressed: Iterable[bytes], write: Callable[[Batch], None]) -> None:
        self._entries = [parse_entry(zlib.decompress(data)) for data in compressed]
        self._stored = len(self._entries)
        self._events: list[AnyEvent | _Text] = []
        self._record: Exploration | None = None
        self._failed: Batch | None = None
        self._taken = 0  # batches
        self._is_unconfirmed = False  # whether the last of them may not be stored
        self._write = write
        self._lock = threading.Lock()  # never held while anything is written
        self._writing = threading.Lock()  # who only adds does not wait for it

    @property
    def entries(self) -> Sequence[AnyEntry]:
        return tuple(self._entries)

    @property
    def unsaved(self) -> int | None:
        with self._lock:
            is_new = self._events or self._record or len(self._entries) > self._stored
            return self._taken + 1 if is_new or self._is_unconfirmed else None

    def add(self, entry: AnyEntry) -> None:
        with self._lock:
            self._entries.append(entry)

    def add_event(self, event: AnyEvent) -> None:
        with self._lock:
            if not isinstance(event, TextDelta | ThinkingDelta):
                self._events.append(event)
                return
            last = self._events[-1] if self._events else None
            if not isinstance(last, _Text) or not last.continues_with(event):
                self._events.append(last := _Text(type(event)))
            last.add(event.content)

    def set_record(self, exploration: Exploration) -> None:
        with self._lock:
            self._record = exploration

    def append(self, entry: AnyEntry) -> None:
        self.add(entry)
        self.flush()

    def flush(self) -> None:
        with self._writing:
            self._store_failed()
            if batch := self._take():
                self._failed = batch
                self._store_failed()

    def _take(self) -> Batch | None:
        with self._lock:
            entries = self._entries[self._stored :]
            events, self._events = self._events, []
            record, self._record = self._record, None
            if not (entries or events or record):
                return None
            self._taken += 1
            self._is_unconfirmed = True
        return Batch(
            number=self._stored,
            entries=[_compress(dump_entry(entry)) for entry in entries],
            events=[event.join() if isinstance(event, _Text) else event for event in events],
            record=record,
        )

    def _store_failed(self) -> None:
        if self._failed is None:
            return
        try:
            self._write(self._failed)
        except LeaseLostError:
            self._failed = None
            with self._lock:
                del self._entries[self._stored :]  # nobody will ever store them
                self._is_unconfirmed = False
            raise
        with self._lock:
            self._stored += len(self._failed.entries)
            self._is_unconfirmed = False
        self._failed = None


def _compress(data: bytes) -> bytes:
    compressor = zlib.compressobj(COMPRESSION, zlib.DEFLATED, WINDOW_BITS, MEMORY_LEVEL)
    return compressor.compress(data) + compressor.flush()


class _Text:
    """Pieces of a text."""

    def __init__(self, kind: type[TextDelta | ThinkingDelta]) -> None:
        self._kind = kind
        self._parts: list[str] = []
        self._size = 0

    def continues_with(self, event: AnyEvent) -> bool:
        return type(event) is self._kind and self._size < MAX_DELTA

    def add(self, content: str) -> None:
        self._parts.append(content)
        self._size += len(content)

    def join(self) -> AnyEvent:
        return self._kind(content="".join(self._parts))
