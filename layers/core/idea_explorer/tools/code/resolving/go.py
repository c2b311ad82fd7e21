"""Go: packages are folders, below the path that go.mod gives the module."""

from collections.abc import Iterator

from idea_explorer.domain.code import Import
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving.paths import folder_of, folders_up, join

MAX_MOD_BYTES = 65_536


class GoPackages:
    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree
        self._modules: dict[str, str] = {}  # path of the module, and its folder
        self._folders: set[str] = set()
        for entry in tree.entries_below(""):
            if entry.name == "go.mod" and entry.content == "text":
                if module := _module_path(tree.content(entry)[:MAX_MOD_BYTES]):
                    self._modules.setdefault(module, folder_of(entry.path))
            elif entry.name.endswith(".go"):
                self._folders.add(folder_of(entry.path))

    def resolve(self, importer: str, imported: Import) -> Iterator[str]:
        folder = self._folder_of(importer, imported.target)
        if folder is not None:
            yield f"{folder}/"

    def last_segments(self, path: str) -> set[str]:
        folder = folder_of(path) if path.endswith(".go") else path
        names = {folder.rpartition("/")[2]}
        names |= {m.rpartition("/")[2] for m, inside in self._modules.items() if inside == folder}
        return names - {""}

    def _folder_of(self, importer: str, target: str) -> str | None:
        segments = target.split("/")
        for end in range(len(segments), 0, -1):
            inside = self._modules.get("/".join(segments[:end]))
            if inside is not None:
                folder = join(inside, *segments[end:])
                return folder if folder in self._folders else None
        for up in folders_up(folder_of(importer)):
            if join(up, "vendor", target) in self._folders:
                return join(up, "vendor", target)
        if self._modules or "." not in segments[0]:
            return None
        # without go.mod, the path below the repository's own address
        endings = ("/".join(segments[start:]) for start in range(1, len(segments) - 1))
        return next((ending for ending in endings if ending in self._folders), None)


def _module_path(content: bytes) -> str:
    for line in content.decode("utf-8", "replace").split("\n"):
        words = line.split()
        if words[:1] == ["module"] and len(words) > 1:
            return words[1].strip("\"'`")
    return ""
