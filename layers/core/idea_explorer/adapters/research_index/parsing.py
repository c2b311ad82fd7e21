"""Where many documents are to be indexed, several processes parse them.

Nothing depends on them: what none of them has parsed is parsed here, and the order stays the same.
"""

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self, TypeAlias

from idea_explorer import __version__
from idea_explorer.adapters.child_processes import child_command, child_environment
from idea_explorer.adapters.research_index.child import read_documents
from idea_explorer.adapters.research_index.sources import FileChange
from idea_explorer.adapters.research_index.tables import hash_content, show_path, store_name
from idea_explorer.domain.document_fields import ParsedText
from idea_explorer.domain.search_words import make_storable
from idea_explorer.domain.threads import run_in_thread

if TYPE_CHECKING:
    import subprocess

CHILD = "idea_explorer.adapters.research_index.child"
MAX_PROCESSES = 3  # with more of them, all wait for the one that writes
LAMBDA_CORE_MEGABYTES = 1_769  # of memory, for which a Lambda function gets one core
# What a process is given at once: about 30 ms of work.
CHUNK_DOCUMENTS = 32
CHUNK_CHARACTERS = 500_000
CHUNK_CHANGES = 500  # of which most are not of documents
# What is read ahead, so that the processes have enough to do while this one writes a batch. It is held in
# memory, in addition to the batch.
AHEAD_CHARACTERS = 8_000_000
AHEAD_CHUNKS = 40  # also of changes without a text
ANSWER_SECONDS = 20.0  # for a chunk, on a busy machine
PIPE_BYTES = 65_536

ParsedChange: TypeAlias = tuple[FileChange, ParsedText | None]
IndexedText: TypeAlias = tuple[bytes, bytes]  # the name of the file, and the hash of the text


def count_cores() -> int:
    """Those that the system lets this process use, whatever share of their time it gets."""
    if megabytes := os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"):
        # the system shows two to every function
        return max(1, int(megabytes) // LAMBDA_CORE_MEGABYTES)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parse_changes(
    changes: Iterable[FileChange], list_indexed: Callable[[], Collection[IndexedText]]
) -> Generator[ParsedChange]:
    """All changes in their order, each document with what was parsed of it if there is more than one core.
    `list_indexed` says which texts are indexed already and need not be parsed."""
    processes = min(count_cores() - 1, MAX_PROCESSES)
    if processes < 1:
        yield from ((change, None) for change in changes)
        return
    with _Processes(processes) as pool:
        yield from pool.parse(_split(changes, list_indexed()))


@dataclass(eq=False)
class _Chunk:
    """Some changes, and what is to be parsed of them."""

    changes: list[FileChange] = field(default_factory=list)
    texts: dict[int, tuple[str, str]] = field(default_factory=dict)  # by the number of the change
    characters: int = 0
    parsed: dict[int, ParsedText | None] | None = None
    error: Exception | None = None  # of reading what comes after it

    def add(self, change: FileChange, indexed: Collection[IndexedText]) -> None:
        if change.text is not None:
            text = make_storable(change.text)
            self.characters += len(text)
            if (store_name(change.name), hash_content(text)) not in indexed:
                self.texts[len(self.changes)] = show_path(change.name), text
        self.changes.append(change)

    @property
    def is_full(self) -> bool:
        return self.is_much_work or len(self.changes) >= CHUNK_CHANGES

    @property
    def is_much_work(self) -> bool:
        return len(self.texts) >= CHUNK_DOCUMENTS or self.characters >= CHUNK_CHARACTERS

    def put(self, parsed: list[ParsedText | None]) -> None:
        self.parsed = dict(zip(self.texts, parsed, strict=True))

    def __iter__(self) -> Iterator[ParsedChange]:
        assert self.parsed is not None
        for number, change in enumerate(self.changes):
            yield change, self.parsed.get(number)


def _split(changes: Iterable[FileChange], indexed: Collection[IndexedText]) -> Iterator[_Chunk]:
    """What was read before an error is not lost."""
    chunk = _Chunk()
    try:
        for change in changes:
            chunk.add(change, indexed)
            if chunk.is_full:
                yield chunk
                chunk = _Chunk()
    except Exception as error:  # noqa: BLE001  raised when what came before it is written
        chunk.error = error
    yield chunk


class _Processes:
    """Processes that parse chunks. Each is started for a chunk that is much work, so there are none where
    little is left to do. This one takes part whenever it would have to wait for them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._children: list[subprocess.Popen[bytes]] = []
        self._changed = threading.Condition()
        self._waiting: deque[_Chunk] = deque()
        self._taken: dict[_Chunk, subprocess.Popen[bytes]] = {}
        self._is_closed = False
        self._feeders = self._ended = 0  # threads

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left of them, whatever they were doing."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for child in self._children:
            child.kill()
            child.wait()
        with self._changed:
            self._changed.wait_for(lambda: self._ended == self._feeders)
        for child in self._children:
            _close_pipes(child)

    def parse(self, chunks: Iterator[_Chunk]) -> Iterator[ParsedChange]:
        ahead: deque[_Chunk] = deque()
        characters = 0
        while True:
            while (
                characters < AHEAD_CHARACTERS
                and len(ahead) < AHEAD_CHUNKS
                and (chunk := next(chunks, None))
            ):
                ahead.append(chunk)
                characters += chunk.characters
                self._offer(chunk)
            if not ahead:
                return
            first = ahead.popleft()
            characters -= first.characters
            self._finish(first)
            yield from first
            if first.error:
                raise first.error

    def _offer(self, chunk: _Chunk) -> None:
        if not chunk.texts:
            chunk.put([])
            return
        if chunk.is_much_work and len(self._children) < self._count:
            self._add_child()
        with self._changed:
            self._waiting.append(chunk)
            self._changed.notify()

    def _add_child(self) -> None:
        # without a file, memory or thread left for it, this process parses more
        with suppress(OSError, RuntimeError):
            self._children.append(_start())
            run_in_thread(partial(self._feed, self._children[-1]), name="research index child")
            self._feeders += 1

    def _finish(self, wanted: _Chunk) -> None:
        """Parse what nobody has taken yet, until the chunk that is wanted is done."""
        while wanted.parsed is None:
            with self._changed:
                if wanted in self._waiting:
                    self._waiting.remove(wanted)
                    chunk = wanted
                elif self._waiting:
                    chunk = self._waiting.popleft()
                elif self._changed.wait_for(lambda: wanted not in self._taken, ANSWER_SECONDS):
                    continue
                else:
                    self._taken.pop(wanted).kill()
                    chunk = wanted
            chunk.put(read_documents(chunk.texts.values()))

    def _feed(self, child: "subprocess.Popen[bytes]") -> None:
        """Give a child one chunk after the other, until it fails or all are done."""
        while (chunk := self._take(child)) and self._parse_in(child, chunk):
            pass
        with self._changed:
            self._ended += 1
            self._changed.notify_all()

    def _parse_in(self, child: "subprocess.Popen[bytes]", chunk: _Chunk) -> bool:
        """Whether the child has parsed it. If not, it waits again."""
        try:
            parsed = _ask(child, chunk)
        except Exception:  # noqa: BLE001  it has ended or was killed; whatever it answered, nothing is lost
            parsed = None
        with self._changed:
            if self._taken.pop(chunk, None):  # else it was parsed here meanwhile
                if parsed is None:
                    self._waiting.appendleft(chunk)
                else:
                    chunk.put(parsed)
            self._changed.notify_all()
        return parsed is not None

    def _take(self, child: "subprocess.Popen[bytes]") -> _Chunk | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            if self._is_closed:
                return None
            chunk = self._waiting.popleft()
            self._taken[chunk] = child
            return chunk


def _start() -> "subprocess.Popen[bytes]":
    import subprocess  # which most of those who use an index do not need

    return subprocess.Popen(  # noqa: S603  no shell, our own arguments
        child_command(CHILD, __version__),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=PIPE_BYTES,
        cwd="/",
        env=child_environment(),
    )


def _close_pipes(child: "subprocess.Popen[bytes]") -> None:
    for pipe in (child.stdin, child.stdout):
        assert pipe
        with suppress(OSError):  # what was not sent is of no use any more
            pipe.close()


def _ask(child: "subprocess.Popen[bytes]", chunk: _Chunk) -> list[ParsedText | None]:
    """Raises an error if the child has ended, or answers something else."""
    assert child.stdin
    assert child.stdout
    child.stdin.write(json.dumps([*chunk.texts.values()]).encode() + b"\n")
    child.stdin.flush()
    answer = json.loads(child.stdout.readline())
    if len(answer) != len(chunk.texts):
        raise ValueError
    return [parsed and ParsedText(*parsed) for parsed in answer]
