"""Which files of the repository an import means: by the rules of its language and the project's own settings.

Everything here is read from the repository: untrusted, bounded, and never followed out of it.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Protocol

from idea_explorer.domain.code import Import
from idea_explorer.tools.code.parsing import grammar_of
from idea_explorer.tools.code.parsing.modules import module_segments
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving.go import GoPackages
from idea_explorer.tools.code.resolving.headers import Headers
from idea_explorer.tools.code.resolving.java import JavaClasses
from idea_explorer.tools.code.resolving.javascript import JavaScriptModules
from idea_explorer.tools.code.resolving.python import PythonModules
from idea_explorer.tools.code.resolving.rust import RustModules

MAX_SAME = 20  # files that a shortened path may mean
_FAMILIES = {
    "c": "headers",
    "cpp": "headers",
    "kotlin": "java",
    "svelte": "javascript",
    "tsx": "javascript",
    "typescript": "javascript",
    "vue": "javascript",
}
_RESOLVED = frozenset({"go", "headers", "java", "javascript", "python", "rust"})


class ModuleResolver(Protocol):
    def resolve(self, importer: str, imported: Import) -> Iterable[str]:
        """The files that an import in the file `importer` means; folders end in a slash."""

    def last_segments(self, path: str) -> set[str]:
        """What an import of this file may end in."""


def family_of(path: str) -> str:
    """The language of a file, or the one whose rules for imports it shares."""
    grammar = grammar_of(path) or ""
    return _FAMILIES.get(grammar, grammar)


class Resolver:
    """For one tree. What it needs of a language is read with the first import in that language."""

    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree
        self._families: dict[str, ModuleResolver] = {}

    def resolve(self, importer: str, imported: Import) -> set[str] | None:
        """None if the rules of the language are not known here."""
        family = family_of(importer)
        return {*self._of(family).resolve(importer, imported)} if family in _RESOLVED else None

    def last_segments(self, path: str) -> set[str]:
        family = family_of(path)
        if family in _RESOLVED:
            return self._of(family).last_segments(path)
        return {*module_segments(path)[-1:]}

    def names_passed_on(self, importer: str, imported: Import, files: list[str]) -> set[str]:
        """The names under which an import of these files makes what is in them known elsewhere."""
        rust = self._of(family_of(importer))
        return rust.passed_on(importer, imported, files) if isinstance(rust, RustModules) else set()

    def find_files(self, path: str) -> list[str]:
        """The files that a path means, which may lack its beginning or its ending."""
        given = path.strip().removeprefix("./").rstrip("/")
        if self._tree.entry(given):
            return [given]
        segments = module_segments(given)
        if self._tree.is_folder(given):
            inside = self._tree.children(given)
            return [child for child in inside if module_segments(child) == segments]
        if not segments:
            return []
        named = self._by_name.get(segments[-1], [])
        found = [p for p in named if module_segments(p)[-len(segments) :] == segments]
        return found[:MAX_SAME] if len(found) <= MAX_SAME else []

    def _of(self, family: str) -> ModuleResolver:
        if family not in self._families:
            self._families[family] = self._make(family)
        return self._families[family]

    def _make(self, family: str) -> ModuleResolver:
        match family:
            case "go":
                return GoPackages(self._tree)
            case "headers":
                return Headers(self._tree)
            case "java":
                return JavaClasses(self._tree)
            case "javascript":
                return JavaScriptModules(self._tree)
            case "python":
                return PythonModules(self._tree)
            case _:
                return RustModules(self._tree)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        named: dict[str, list[str]] = {}
        for path in self._sources():
            if segments := module_segments(path):
                named.setdefault(segments[-1], []).append(path)
        return named

    def _sources(self) -> Iterator[str]:
        return (entry.path for entry in self._tree.entries_below("") if grammar_of(entry.path))
