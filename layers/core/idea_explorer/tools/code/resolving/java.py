"""Java and Kotlin: a class is the file that ends in its package and name."""

from collections.abc import Iterator
from functools import cached_property

from idea_explorer.domain.code import Import
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving.paths import folder_of, nearest

_ENDINGS = (".java", ".kt", ".kts")


class JavaClasses:
    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree

    def resolve(self, importer: str, imported: Import) -> Iterator[str]:
        name = imported.target.rpartition("/")[2]
        ending = f"/{imported.target}"
        files = [path for path in self._files.get(name, ()) if _stem(path).endswith(ending)]
        folders = [folder for folder in self._folders.get(name, ()) if folder.endswith(ending)]
        yield from nearest(files, importer) if files else ()
        yield from (f"{folder[1:]}/" for folder in folders)

    def last_segments(self, path: str) -> set[str]:
        return {_stem(path).rpartition("/")[2]}

    @cached_property
    def _files(self) -> dict[str, list[str]]:
        """By the name of the class."""
        files: dict[str, list[str]] = {}
        for entry in self._tree.entries_below(""):
            if entry.name.endswith(_ENDINGS):
                files.setdefault(entry.name.partition(".")[0], []).append(entry.path)
        return files

    @cached_property
    def _folders(self) -> dict[str, list[str]]:
        """By their last segment; each begins with a slash."""
        folders: dict[str, list[str]] = {}
        for folder in {folder_of(path) for paths in self._files.values() for path in paths}:
            folders.setdefault(folder.rpartition("/")[2], []).append(f"/{folder}")
        return folders


def _stem(path: str) -> str:
    """From the root, without its ending."""
    return (
        f"/{path.rstrip('/').rpartition('.')[0] if path.endswith(_ENDINGS) else path.rstrip('/')}"
    )
