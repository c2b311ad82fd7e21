"""Rust: modules below the root of a crate, crates of the same workspace, and what a module passes on."""

import tomllib
from collections.abc import Iterator
from functools import cache

from idea_explorer.domain.code import Import, ParsedCode
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.tools.code.parsing import parse
from idea_explorer.tools.code.parsing.modules import module_segments
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving.paths import folder_of, folders_up, join, normalize

MAX_TOML_BYTES = 65_536
MAX_HOPS = 4  # of names that one module passes on to another
_DEFAULT_ROOTS = ("src/lib.rs", "src/main.rs", "build.rs")
# by the setting that says whether each file in them is one
_ROOT_FOLDERS = {
    "autobins": "src/bin",
    "autotests": "tests",
    "autoexamples": "examples",
    "autobenches": "benches",
}
_TARGETS = ("bin", "test", "example", "bench")


@dataclass(frozen=True, slots=True)
class _Module:
    """A file, and the folder of its submodules."""

    file: str
    folder: str


class RustModules:
    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree
        self._crates: dict[str, str] = {}  # the root file of each library, by its name
        self._roots: dict[str, list[str]] = {}  # the root files in each folder
        self._old: set[str] = set()  # folders of crates in which a path may begin at the root
        self._parsed = cache(self._parse)
        for entry in tree.entries_below(""):
            if entry.name == "Cargo.toml" and entry.content == "text":
                content = tree.content(entry)[:MAX_TOML_BYTES].decode("utf-8", "replace")
                self._add_crate(folder_of(entry.path), content)
        if not self._roots:
            for entry in tree.entries_below(""):
                if entry.name in {"lib.rs", "main.rs"}:
                    self._add_root(entry.path)

    def resolve(self, importer: str, imported: Import) -> Iterator[str]:
        yield from self._follow(importer, imported, MAX_HOPS)

    def last_segments(self, path: str) -> set[str]:
        *_, name = module_segments(path) or [""]
        crates = {crate for crate, root in self._crates.items() if root == path}
        if path in self._roots.get(folder_of(path), ()):
            folder = folder_of(path).rpartition("/")[2]  # of those that import it as `super`
            return {name, "crate", folder, *crates}
        return {name}

    def passed_on(self, importer: str, imported: Import, files: list[str]) -> set[str]:
        """The names under which a `pub use` makes what is in these files known elsewhere."""
        if not imported.statement.startswith("pub"):
            return set()
        same = (one for one in self._parsed(importer).imports if one.line == imported.line)
        names = {one.bound for one in same if one.bound}
        if "*" in imported.statement:
            defined = (d for file in files for d in self._parsed(file).definitions)
            names |= {d.name for d in defined if not d.container}
        return names

    def _follow(self, importer: str, imported: Import, hops: int) -> Iterator[str]:
        segments = [segment for segment in imported.target.split("/") if segment]
        start = self._start(importer, imported.level, segments)
        if start is None:
            return
        module, rest = self._walk(*start)
        if module.file == importer:
            return  # an item of its own
        yield module.file
        if len(rest) == 1 and hops:
            yield from self._passed_to(module.file, rest[0], hops - 1)

    def _passed_to(self, file: str, name: str, hops: int) -> Iterator[str]:
        """The files from which a module takes a name that it passes on."""
        for passed in self._parsed(file).imports:
            if not passed.statement.startswith("pub"):
                continue
            if passed.bound == name:
                yield from self._follow(file, passed, hops)
            elif not passed.bound and "*" in passed.statement:
                for origin in {*self._follow(file, passed, 0)}:
                    defined = self._parsed(origin).definitions
                    if any(d.name == name and not d.container for d in defined):
                        yield origin

    def _start(
        self, importer: str, level: int, segments: list[str]
    ) -> tuple[_Module, list[str]] | None:
        """The module at which a path begins, and what is left of the path."""
        here = self._module_of(importer)
        if level:
            for _ in range(level - 1):
                here = self._parent(here)
            return here, segments
        if not segments:
            return None
        root = self._root_module(importer)
        if segments[0] == "crate":
            return root, segments[1:]
        if self._child(here, segments[0]):
            return here, segments
        if segments[0] in self._crates:
            return self._module_of(self._crates[segments[0]]), segments[1:]
        is_old = any(up in self._old for up in folders_up(folder_of(importer)))
        return (root, segments) if is_old and self._child(root, segments[0]) else None

    def _walk(self, module: _Module, segments: list[str]) -> tuple[_Module, list[str]]:
        for done, segment in enumerate(segments):
            inner = self._child(module, segment)
            if inner is None:
                return module, segments[done:]
            module = inner
        return module, []

    def _child(self, module: _Module, name: str) -> _Module | None:
        inside = join(module.folder, name)
        for file in (f"{inside}.rs", f"{inside}/mod.rs"):
            if self._tree.entry(file) and name not in {"lib", "main"}:
                return _Module(file, inside)
        return None

    def _parent(self, module: _Module) -> _Module:
        folder = folder_of(module.folder)
        for file in (f"{folder}.rs", f"{folder}/mod.rs"):
            if self._tree.entry(file):
                return _Module(file, folder)
        return self._root_module(join(folder, "x"))

    def _module_of(self, file: str) -> _Module:
        folder = folder_of(file)
        if file.endswith("/mod.rs") or file in self._roots.get(folder, ()):
            return _Module(file, folder)
        return _Module(file, file.removesuffix(".rs"))

    def _root_module(self, file: str) -> _Module:
        """The root of the crate that a file belongs to; itself, if it is one."""
        for folder in folders_up(folder_of(file)):
            roots = self._roots.get(folder, [])
            if file in roots:
                return _Module(file, folder)
            if roots:
                return _Module(
                    min(roots, key=lambda root: (not root.endswith("lib.rs"), root)), folder
                )
        return self._module_of(file)

    def _add_crate(self, folder: str, content: str) -> None:
        try:
            described = tomllib.loads(content)
        except (tomllib.TOMLDecodeError, RecursionError):
            return
        package, library = _table(described.get("package")), _table(described.get("lib"))
        roots = [join(folder, root) for root in _DEFAULT_ROOTS]
        for setting, name in _ROOT_FOLDERS.items():
            inside = join(folder, name)
            if self._tree.is_folder(inside) and package.get(setting, True):
                roots += [p for p in self._tree.children(inside) if p.endswith(".rs")]
                roots += [f"{p}/main.rs" for p in self._tree.children(inside)]
        listed = [_table(one) for kind in _TARGETS for one in _list(described.get(kind))]
        named = [str(one["path"]) for one in [library, *listed] if "path" in one]
        roots += [path for one in named if (path := normalize(folder, one))]
        for root in roots:
            self._add_root(root)
        if not package:
            return
        if str(package.get("edition", "2015")) == "2015":
            self._old.add(folder)
        crate = str(library.get("name") or package.get("name") or "").replace("-", "_")
        root = normalize(folder, str(library.get("path", "src/lib.rs"))) or ""
        if crate and self._tree.entry(root):
            self._crates.setdefault(crate, root)

    def _add_root(self, file: str) -> None:
        known = self._roots.setdefault(folder_of(file), []) if self._tree.entry(file) else [file]
        if file not in known:
            known.append(file)

    def _parse(self, path: str) -> ParsedCode:
        entry = self._tree.entry(path)
        is_text = entry is not None and entry.content == "text"
        return parse("rust", self._tree.content(entry)) if entry and is_text else ParsedCode()


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
