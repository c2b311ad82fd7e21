"""What the code tools share: the repository, its symbols, and the changes approved since.

Symbols are indexed on demand. For each question, text search finds the files that contain the word, and
those that were never parsed are parsed and stored by content. So the first answer is fast, every file is
parsed once, and a new commit costs only its changed files.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TypeVar

from idea_explorer.domain.code import Definition, Import, ParsedCode, SnapshotEntry
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import check_time_limit
from idea_explorer.domain.errors import ExplorerError, ExternalError, ToolError
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.ports import Snapshot, Symbols
from idea_explorer.tools.code.parsing import grammar_of, parse
from idea_explorer.tools.code.patterns import literal_pattern
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving import Resolver

# the first call unpacks the repository, and the first question about a common word parses much of it
TIME_LIMIT = 60.0
Symbol = TypeVar("Symbol", Definition, Import)
BATCH = 100  # files parsed between two writes; if fewer are missing, all are parsed


class SymbolIndex:
    """Safe to use from several threads, which wait for each other while files are parsed."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._lock = threading.Lock()
        self._tree: RepositoryTree | None = None
        self._sources: dict[str, list[SnapshotEntry]] = {}
        self._missing: set[str] = set()
        self._prepared: set[str] = set()

    def definitions(self, tree: RepositoryTree, name: str) -> Iterator[tuple[str, Definition]]:
        """Every definition of a name, with the path of its file."""
        return _locate(self._prepare(tree, name), self._symbols.definitions(name))

    def bindings(self, tree: RepositoryTree, name: str) -> Iterator[tuple[str, Import]]:
        """Every import that brings in a name."""
        return _locate(self._prepare(tree, name), self._symbols.bindings(name))

    def imports(self, tree: RepositoryTree, last: str) -> Iterator[tuple[str, Import]]:
        """Every import whose target may end in this segment; with none, imports of a folder alone."""
        return _locate(self._prepare(tree, last), self._symbols.imports(last))

    def build(self, tree: RepositoryTree) -> int:
        """Parse all files that were not parsed before, and return how many."""
        with self._lock:
            self._switch_to(tree)
            return self._parse(tree, {*self._missing})

    def _prepare(self, tree: RepositoryTree, word: str) -> dict[str, list[SnapshotEntry]]:
        with self._lock:
            self._switch_to(tree)
            if len(self._missing) <= BATCH or not word:
                self._parse(tree, {*self._missing})
            elif word not in self._prepared:
                self._parse(tree, {*self._find_sources(tree, word)})
            self._prepared.add(word)
            return self._sources

    def _find_sources(self, tree: RepositoryTree, word: str) -> Iterator[str]:
        """What to parse for a word: files that contain it as a whole word, and files in a folder of that
        name, because `from . import x` does not name the folder."""
        wanted = word.encode("utf-8", "replace")
        for entry in tree.files_with(literal_pattern(word)):
            key = _key(entry)
            if key in self._missing and find_words(tree.content(entry), wanted, most=1):
                yield key
        inside = f"/{word}/"
        for key in self._missing:
            if any(inside in f"/{entry.path}" for entry in self._sources[key]):
                yield key

    def _switch_to(self, tree: RepositoryTree) -> None:
        if tree is self._tree:
            return
        sources: dict[str, list[SnapshotEntry]] = {}
        for entry in tree.entries_below(""):
            if key := _key(entry):
                sources.setdefault(key, []).append(entry)
        self._tree, self._sources = tree, sources
        self._missing = self._symbols.unknown(sources)
        self._prepared = set()

    def _parse(self, tree: RepositoryTree, keys: set[str]) -> int:
        todo = sorted(keys)
        for start in range(0, len(todo), BATCH):
            parsed: dict[str, ParsedCode] = {}
            for key in todo[start : start + BATCH]:
                check_time_limit()
                entry = self._sources[key][0]
                # what is stored is cut from the text and shown, so keys are masked before
                parsed[key] = parse(key.partition(":")[0], tree.shown(entry))
            self._symbols.add(parsed)
            self._missing.difference_update(parsed)
        return len(todo)


_WORD_BYTES = frozenset(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def find_words(content: bytes, word: bytes, most: int) -> list[int]:
    """Where it contains the word as a whole. A regular expression would compare the whole word at every byte
    of a text that repeats its beginning."""
    found: list[int] = []
    at = content.find(word)
    while at >= 0 and len(found) < most:
        end = at + len(word)
        if _WORD_BYTES.isdisjoint(content[max(at - 1, 0) : at] + content[end : end + 1]):
            found.append(at)
        at = content.find(word, at + 1)
    return found


def _key(entry: SnapshotEntry) -> str:
    """The parser and the content of a file; empty if there is nothing to parse."""
    grammar = grammar_of(entry.path) if entry.content == "text" else None
    return f"{grammar}:{entry.blob}" if grammar else ""


def _locate(
    sources: dict[str, list[SnapshotEntry]], found: Sequence[tuple[str, Symbol]]
) -> Iterator[tuple[str, Symbol]]:
    for key, symbol in found:
        for entry in sources.get(key, ()):
            yield entry.path, symbol


@dataclass
class Workspace:
    """One exploration's view of a repository. Safe to use from several threads. The snapshot is opened on
    first use, so that a repository that cannot be read fails a call and not the run."""

    open_snapshot: Callable[[], Snapshot]
    symbols: Symbols
    limits: CodeLimits = field(default_factory=CodeLimits)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._refusal: ExplorerError | None = None
        self._approved: dict[str, bytes | None] = {}
        self.index = SymbolIndex(self.symbols)
        self._tree: RepositoryTree | None = None
        self._resolver: tuple[RepositoryTree, Resolver] | None = None

    @property
    def resolver(self) -> Resolver:
        """For the tree as it is now."""
        tree = self.tree
        with self._lock:
            if self._resolver is None or self._resolver[0] is not tree:
                self._resolver = (tree, Resolver(tree))
            return self._resolver[1]

    @property
    def tree(self) -> RepositoryTree:
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._open()
            if self._tree is None:
                self._tree = RepositoryTree(self._snapshot, self._approved)
            return self._tree

    def _open(self) -> Snapshot:
        """Open it once; only a failure that may pass is worth another attempt."""
        if self._refusal:
            raise self._refusal
        try:
            return self.open_snapshot()
        except ExternalError as error:
            self._refusal = None if error.retryable else error
            raise
        except ExplorerError as error:  # such as a missing folder or ref
            self._refusal = ToolError("internal_error", error.sentence)
            raise self._refusal from error

    def approve(self, path: RepositoryPath, content: str | None) -> None:
        """Let every tool see this content from now on; None: that the file is gone."""
        with self._lock:
            encoded = None if content is None else content.encode("utf-8")
            self._approved = {**self._approved, path: encoded}
            self._tree = None
