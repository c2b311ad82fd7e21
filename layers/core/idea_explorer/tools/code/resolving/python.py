"""Python: modules below the folders that imports begin at."""

import sys
from collections.abc import Iterator
from functools import cache

from idea_explorer.domain.code import Import
from idea_explorer.tools.code.parsing import grammar_of
from idea_explorer.tools.code.parsing.modules import module_segments
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving.paths import folder_of, folders_up, join, nearest

_SOURCE_FOLDERS = ("", "src", "lib")


class PythonModules:
    """An absolute import begins where the outermost package is, which is the folder above it. Of several such
    folders with the same name in them, the one nearest to the importer counts."""

    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree
        self._is_package = cache(self._find_package_file)
        self._roots: dict[str, set[str]] = {}
        for entry in tree.entries_below(""):
            if grammar_of(entry.path) == "python":
                root = self._root_of(entry.path)
                if root is not None:
                    rest = entry.path[len(root) + 1 if root else 0 :]
                    self._roots.setdefault(module_segments(rest.partition("/")[0])[0], set()).add(
                        root
                    )

    def resolve(self, importer: str, imported: Import) -> Iterator[str]:
        segments = [segment for segment in imported.target.split("/") if segment]
        if imported.level:
            above = folders_up(folder_of(importer))
            if imported.level <= len(above):
                yield from self._files(above[imported.level - 1], segments)
            return
        if not segments:
            return
        for root in self._candidates(importer, segments[0]):
            if found := [*self._files(root, segments)]:
                yield from found
                return
        if self._is_package("") and segments[0] not in sys.stdlib_module_names:
            # the repository is a package itself, of which only its imports know the name
            yield from self._files("", segments[1:]) if segments[1:] else ()

    def last_segments(self, path: str) -> set[str]:
        return {*(module_segments(path)[-1:] or [""])}

    def _candidates(self, importer: str, top: str) -> list[str]:
        """The folders at which an import that begins with this name may begin, the likeliest first."""
        folder = folder_of(importer)
        roots = self._roots.get(top, set())
        if top in sys.stdlib_module_names:
            roots = {root for root in roots if root == folder or root in _SOURCE_FOLDERS}
        else:  # a folder without __init__.py may be a package as well
            roots = roots | {up for up in folders_up(folder) if self._tree.is_folder(join(up, top))}
            roots |= {root for root in _SOURCE_FOLDERS if self._tree.is_folder(join(root, top))}
        ordered: list[str] = []
        left = {join(root, top, "x") for root in roots}
        while left:
            closest = nearest(left, importer)
            ordered += [path.rpartition("/")[0].rpartition("/")[0] for path in closest]
            left.difference_update(closest)
        return ordered

    def _files(self, base: str, segments: list[str]) -> Iterator[str]:
        path = join(base, *segments)
        packages = [join(path, "__init__.py"), join(path, "__init__.pyi")]
        modules = [f"{path}.py", f"{path}.pyi", f"{path}.pyw"] if segments else []
        for names in (packages, modules):
            if found := [name for name in names if self._tree.entry(name)]:
                yield from found
                return

    def _root_of(self, path: str) -> str | None:
        """The folder above the outermost package; None if that is above the repository."""
        for folder in folders_up(folder_of(path)):
            if not self._is_package(folder):
                return folder
        return None

    def _find_package_file(self, folder: str) -> bool:
        names = (join(folder, "__init__.py"), join(folder, "__init__.pyi"))
        return any(self._tree.entry(name) for name in names)
