"""The symbols of a repository, found as they are asked for.

A question needs only the files that hold its word; those are found by text search, and the ones among them
that were never parsed are parsed and stored by content. So the first question is quick already, every file
is parsed once, and a new commit costs its changed files only.
"""

import re
import threading
from collections.abc import Iterator, Sequence

from idea_explorer.domain.code import Definition, Import, ParsedCode, SnapshotEntry
from idea_explorer.ports import Symbols
from idea_explorer.tools.code.languages import grammar_of
from idea_explorer.tools.code.parsing import parse
from idea_explorer.tools.code.patterns import literal_pattern
from idea_explorer.tools.code.tree import Tree

BATCH = 100  # files parsed in one go: between two writes, and without looking for the word first


class SymbolIndex:
    """Safe to use from several threads; they wait for each other while files are parsed."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._lock = threading.Lock()
        self._tree: Tree | None = None
        self._sources: dict[str, list[SnapshotEntry]] = {}
        self._missing: set[str] = set()
        self._prepared: set[str] = set()

    def definitions(self, tree: Tree, name: str) -> Iterator[tuple[str, Definition]]:
        """Every definition of a name, with the path of its file."""
        sources = self._prepare(tree, name)
        for key, definition in self._symbols.definitions(name):
            for entry in sources.get(key, ()):
                yield entry.path, definition

    def bindings(self, tree: Tree, name: str) -> Iterator[tuple[str, Import]]:
        """Every import that brings in a name."""
        return _located(self._prepare(tree, name), self._symbols.bindings(name))

    def imports(self, tree: Tree, last: str) -> Iterator[tuple[str, Import]]:
        """Every import that may mean something that ends in this segment."""
        return _located(self._prepare(tree, last), self._symbols.imports(last))

    def build(self, tree: Tree) -> int:
        """Parse whatever was not parsed before, and say how many files that were."""
        with self._lock:
            self._look_at(tree)
            return self._parse(tree, {*self._missing})

    def _prepare(self, tree: Tree, word: str) -> dict[str, list[SnapshotEntry]]:
        with self._lock:
            self._look_at(tree)
            if len(self._missing) <= BATCH:
                self._parse(tree, {*self._missing})
            elif word not in self._prepared:
                self._parse(tree, {*self._holding(tree, word)})
            self._prepared.add(word)
            return self._sources

    def _holding(self, tree: Tree, word: str) -> Iterator[str]:
        """What to parse for a word: files that hold it, not only as a part of a longer one, and files in
        a folder of that name, for `from . import x` does not spell the folder.
        """
        whole = re.compile(rb"(?<!\w)%b(?!\w)" % re.escape(word.encode("utf-8", "replace")))
        for entry in tree.files_with(literal_pattern(word)):
            key = _key(entry)
            if key in self._missing and whole.search(tree.content(entry)):
                yield key
        inside = f"/{word}/"
        for key in self._missing:
            if any(inside in f"/{entry.path}" for entry in self._sources[key]):
                yield key

    def _look_at(self, tree: Tree) -> None:
        if tree is self._tree:
            return
        sources: dict[str, list[SnapshotEntry]] = {}
        for entry in tree.entries_below(""):
            if key := _key(entry):
                sources.setdefault(key, []).append(entry)
        self._tree, self._sources = tree, sources
        self._missing = self._symbols.unknown(sources)
        self._prepared = set()

    def _parse(self, tree: Tree, keys: set[str]) -> int:
        todo = sorted(keys)
        for start in range(0, len(todo), BATCH):
            parsed: dict[str, ParsedCode] = {}
            for key in todo[start : start + BATCH]:
                entry = self._sources[key][0]
                parsed[key] = parse(key.partition(":")[0], tree.content(entry))
            self._symbols.add(parsed)
            self._missing.difference_update(parsed)
        return len(todo)


def _key(entry: SnapshotEntry) -> str:
    """Names the parser and the content; empty where there is nothing to parse."""
    grammar = grammar_of(entry.path) if entry.content == "text" else None
    return f"{grammar}:{entry.blob}" if grammar else ""


def _located(
    sources: dict[str, list[SnapshotEntry]], found: Sequence[tuple[str, Import]]
) -> Iterator[tuple[str, Import]]:
    for key, imported in found:
        for entry in sources.get(key, ()):
            yield entry.path, imported
