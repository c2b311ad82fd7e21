"""JavaScript and TypeScript: files, packages of the repository, and the aliases that a project sets."""

from collections.abc import Iterator
from functools import cached_property

from idea_explorer.domain.code import Import
from idea_explorer.tools.code.parsing.modules import module_segments
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving.packages import Package, Packages, TsConfigs, matching
from idea_explorer.tools.code.resolving.paths import folder_of, folders_up, join, normalize

_ENDINGS = (
    *(".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"),
    *(".json", ".vue", ".svelte"),
)
_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts")
# What an import may call a file that is compiled to it.
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_SOURCE_FOLDERS = ("src", "app", "")
_ALIASES = ("@/", "~/", "~~/", "@@/")  # of the source folder, where no setting says so
_BUILT = frozenset("build cjs dist es esm lib module out types".split())
MAX_KEYS = 5_000  # aliases of all settings that are looked at to find what a file is called


class JavaScriptModules:
    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree
        self._packages = Packages(tree)
        self._configs = TsConfigs(tree)

    def resolve(self, importer: str, imported: Import) -> Iterator[str]:
        spec = imported.spec.rpartition("!")[2].partition("?")[0]
        folder = folder_of(importer)
        if spec in {".", ".."} or spec.startswith(("./", "../")):
            path = normalize(folder, spec)
            yield from self._files(path) if path is not None else ()
        elif spec:
            yield from self._named(folder, spec)

    def last_segments(self, path: str) -> set[str]:
        """The last segment of its own path, and of every alias that leads to it."""
        own = {*module_segments(path)[-1:]}
        prefixes = {prefix + name for prefix in self._prefixes for name in own if name}
        return (own | prefixes | self._names.get(path, set())) or {""}

    def _named(self, folder: str, spec: str) -> Iterator[str]:
        """An import that is not relative: the first rule by which there is such a file."""
        for candidates in (
            self._of_aliases(folder, spec),
            self._of_package(folder, spec),
            self._of_source_folder(folder, spec),
        ):
            if found := [*candidates]:
                yield from found
                return

    def _of_aliases(self, folder: str, spec: str) -> Iterator[str]:
        """By the project's tsconfig.json or jsconfig.json."""
        config = self._configs.of_folder(folder)
        if config is None:
            return
        for target in matching(config.paths, spec):
            if found := self._files(target):
                yield from found
                return
        if config.base_url is not None:
            path = normalize(config.base_url, spec)
            yield from self._files(path) if path else ()

    def _of_package(self, folder: str, spec: str) -> Iterator[str]:
        if spec.startswith("#"):
            package = self._packages.around(folder)
            yield from self._first(package, matching(package.imports, spec)) if package else ()
            return
        size = 2 if spec.startswith("@") else 1
        *name, inner = spec.split("/", size) if spec.count("/") >= size else (spec, "")
        package = self._packages.by_name.get("/".join(name))
        if package is None:
            return
        key = f"./{inner}" if inner else "."
        if found := [*self._first(package, matching(package.exports, key))]:
            yield from found
            return
        mains = package.mains if not inner else []
        yield from self._first(package, [*mains, inner or "index", join("src", inner or "index")])

    def _of_source_folder(self, folder: str, spec: str) -> Iterator[str]:
        inner = next((spec[len(alias) :] for alias in _ALIASES if spec.startswith(alias)), None)
        if spec == "$lib" or spec.startswith("$lib/"):
            inner = f"lib{spec[4:]}"
        if spec.startswith("/"):
            inner = spec[1:]
        if inner is None:
            return
        for up in folders_up(folder):
            for source in _SOURCE_FOLDERS:
                path = normalize(join(up, source), inner)
                if path and (found := self._files(path)):
                    yield from found
                    return

    def _first(self, package: Package, targets: list[str]) -> Iterator[str]:
        """Of the targets in a package the first that exists, or the source that it is built from."""
        for target in targets:
            path = normalize(package.folder, target)
            if path is not None and (found := self._files(path)):
                yield from found
                return
        for target in targets:
            segments = [segment for segment in target.split("/") if segment not in {"", "."}]
            while segments and segments[0] in _BUILT:
                segments = segments[1:]
            for source in _SOURCE_FOLDERS:
                path = normalize(join(package.folder, source), "/".join(segments))
                if path and segments and (found := self._files(_without_ending(path))):
                    yield from found
                    return

    def _files(self, path: str) -> list[str]:
        """The file that a path means, and what declares its types."""
        stem = _without_ending(path)
        ending = path[len(stem) :]
        names = [path, *(stem + other for other in _COMPILED.get(ending, ()))]
        names += [path + other for other in _ENDINGS]
        found = next((name for name in names if self._tree.entry(name)), None)
        declared = next((n for n in (stem + d for d in _DECLARATIONS) if self._tree.entry(n)), None)
        declared = declared or (f"{path}.d.ts" if self._tree.entry(f"{path}.d.ts") else None)
        if found or declared:
            return [*filter(None, dict.fromkeys([found, declared]))]
        return self._of_folder(path) if self._tree.is_folder(path) else []

    def _of_folder(self, folder: str) -> list[str]:
        package = self._packages.by_folder.get(folder)
        if package:
            # only deeper ones: two folders may name each other
            inside = f"{folder}/" if folder else ""
            paths = ((main, normalize(folder, main)) for main in package.mains)
            mains = [main for main, path in paths if path and path.startswith(inside)]
            if found := [*self._first(package, mains)]:
                return found
        return self._files(join(folder, "index"))

    @cached_property
    def _names(self) -> dict[str, set[str]]:
        """What imports of a file may end in, by the aliases that lead to it."""
        names: dict[str, set[str]] = {}
        for folder, spec in self._specs():
            for path in self._named(folder, spec):
                names.setdefault(path, set()).add((module_segments(spec) or [""])[-1])
        for folder in self._packages.by_folder:
            for path in self._of_folder(folder):
                names.setdefault(path, set()).add(folder.rpartition("/")[2])
        return names

    def _specs(self) -> Iterator[tuple[str, str]]:
        """Every alias without a wildcard. Those with one keep the last segment of the file's path, unless
        that is `index`, which an import may leave out."""
        keys: list[tuple[str, str]] = []
        for package in self._packages.by_folder.values():
            if package.name:
                keys.append((package.folder, package.name))
                exported = (key for key in package.exports if key.startswith("./"))
                keys += [(package.folder, package.name + key[1:]) for key in exported]
            keys += [(package.folder, key) for key in package.imports]
        for config in self._configs.all():
            keys += [(config.folder, key) for key in config.paths]
        for folder, key in keys[:MAX_KEYS]:
            if "*" not in key:
                yield folder, key
            elif key.endswith("/*"):
                yield folder, f"{key[:-1]}index"

    @cached_property
    def _prefixes(self) -> set[str]:
        """What stands before the wildcard in the same segment of an alias, such as `#*`."""
        keys = [key for package in self._packages.by_folder.values() for key in package.imports]
        keys += [key for config in self._configs.all() for key in config.paths]
        before = {key.partition("*")[0].rpartition("/")[2] for key in keys if "*" in key}
        return before - {""}


def _without_ending(path: str) -> str:
    for ending in (*_DECLARATIONS, *_ENDINGS):
        if path.endswith(ending):
            return path.removesuffix(ending)
    return path
