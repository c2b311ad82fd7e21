"""The settings by which JavaScript projects name their files: package.json, tsconfig.json, jsconfig.json."""

import json
import re
from collections.abc import Iterator
from dataclasses import field
from functools import cache, cached_property
from itertools import islice

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving.paths import folder_of, folders_up, join, normalize

MAX_JSON_BYTES = 131_072
MAX_TARGETS = 50  # of one alias
MAX_EXTENDS = 10
MAX_ALIASES = 1_000  # of one file
# Strings stay; comments and commas before a closing bracket go.
_JSONC = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*[}\]])', re.DOTALL)
# Those that say where the source is come first.
_CONDITIONS = ("source", "development", "types", "import", "module", "require", "node", "default")
_MAINS = ("source", "types", "typings", "module", "main")
Targets = dict[str, list[str]]  # where an alias may lead, by its name


@dataclass(frozen=True, slots=True)
class Package:
    folder: str
    name: str = ""
    mains: list[str] = field(default_factory=list)
    exports: Targets = field(default_factory=dict)
    imports: Targets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TsConfig:
    """`paths` lead to paths from the root of the repository."""

    folder: str
    paths: Targets = field(default_factory=dict)
    base_url: str | None = None


class Packages:
    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree

    @cached_property
    def by_folder(self) -> dict[str, Package]:
        found: dict[str, Package] = {}
        for entry in self._tree.entries_below(""):
            if entry.name == "package.json" and "node_modules/" not in entry.path:
                folder = folder_of(entry.path)
                found[folder] = _read_package(folder, read_json(self._tree, entry.path))
        return found

    @cached_property
    def by_name(self) -> dict[str, Package]:
        """Of several with the same name, the one that is least deep: others are examples."""
        named: dict[str, Package] = {}
        for package in sorted(self.by_folder.values(), key=lambda one: one.folder.count("/")):
            if package.name:
                named.setdefault(package.name, package)
        return named

    def around(self, folder: str) -> Package | None:
        return next((self.by_folder[up] for up in folders_up(folder) if up in self.by_folder), None)


class TsConfigs:
    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree
        self.of_folder = cache(self._of_folder)

    def all(self) -> Iterator[TsConfig]:
        for entry in self._tree.entries_below(""):
            if (
                entry.name in {"tsconfig.json", "jsconfig.json"}
                and "node_modules/" not in entry.path
            ):
                config = self.of_folder(folder_of(entry.path))
                if config is not None:
                    yield config

    def _of_folder(self, folder: str) -> TsConfig | None:
        """The settings for the files in a folder: those of the nearest folder that has any."""
        for up in folders_up(folder):
            for name in ("tsconfig.json", "jsconfig.json"):
                if self._tree.entry(join(up, name)):
                    return self._read(up, join(up, name))
        return None

    def _read(self, folder: str, file: str) -> TsConfig:
        config = self._merge(folder, file, set())
        if config.paths or config.base_url is not None:
            return config
        # a file that only lists the projects it is made of
        for reference in _list(read_json(self._tree, file).get("references")):
            inner = self._find(folder, str(_table(reference).get("path", "")))
            if inner and (found := self._merge(folder, inner, set())).paths:
                return found
        return config

    def _merge(self, top: str, file: str, seen: set[str]) -> TsConfig:
        """Its own settings over those of the files that it extends."""
        seen.add(file)
        described = read_json(self._tree, file)
        folder = folder_of(file)
        merged = TsConfig(top)
        extended = described.get("extends")
        for parent in extended if isinstance(extended, list) else [extended]:
            inherited = self._find(folder, parent) if isinstance(parent, str) else None
            if inherited and inherited not in seen and len(seen) < MAX_EXTENDS:
                merged = self._merge(top, inherited, seen)
        options = _table(described.get("compilerOptions"))
        given = options.get("baseUrl")
        base_url = _place(folder, top, given) if isinstance(given, str) else merged.base_url
        if not isinstance(options.get("paths"), dict):
            return TsConfig(top, merged.paths, base_url)
        begin = base_url if base_url is not None else folder
        paths = {
            key: [p for one in _strings(value) if (p := _place(begin, top, one)) is not None]
            for key, value in islice(_table(options["paths"]).items(), MAX_ALIASES)
        }
        return TsConfig(top, paths, base_url)

    def _find(self, folder: str, given: str) -> str | None:
        """The file that `extends` or a reference names."""
        if not given.startswith("."):
            return None
        path = normalize(folder, given)
        names = [path, f"{path}.json", f"{path}/tsconfig.json"] if path is not None else []
        return next((name for name in names if name and self._tree.entry(name)), None)


def matching(targets: Targets, spec: str) -> list[str]:
    """Where a name leads: by its own entry, or by the wildcard with the longest beginning."""
    if spec in targets and "*" not in spec:
        return targets[spec]
    best, filled = -1, ""
    for key in targets:
        begin, star, end = key.partition("*")
        fits = len(spec) >= len(begin) + len(end) and spec.startswith(begin) and spec.endswith(end)
        if star and fits and len(begin) > best:
            best, filled = len(begin), key
    if best < 0:
        return []
    begin, _, end = filled.partition("*")
    value = spec[len(begin) : len(spec) - len(end)]
    return [target.replace("*", value, 1) for target in targets[filled]]


def read_json(tree: RepositoryTree, path: str) -> dict[str, object]:
    """An object, which may have comments; empty if it cannot be read."""
    entry = tree.entry(path)
    if entry is None or entry.content != "text" or entry.size > MAX_JSON_BYTES:
        return {}
    text = tree.content(entry).decode("utf-8-sig", "replace")
    try:
        return _table(json.loads(strip_comments(text)))
    except (ValueError, RecursionError):
        return {}


def strip_comments(text: str) -> str:
    return _JSONC.sub(lambda found: found[1] or "", text)


def _read_package(folder: str, described: dict[str, object]) -> Package:
    exports = described.get("exports")
    if exports is not None and not _has_paths(exports):
        exports = {".": exports}
    name = described.get("name")
    return Package(
        folder,
        name if isinstance(name, str) else "",
        [main for key in _MAINS if isinstance(main := described.get(key), str)],
        _aliases(exports),
        _aliases(described.get("imports")),
    )


def _aliases(value: object) -> Targets:
    return {key: _leaves(inner) for key, inner in islice(_table(value).items(), MAX_ALIASES)}


def _has_paths(exports: object) -> bool:
    return isinstance(exports, dict) and any(str(key).startswith(".") for key in exports)


def _leaves(value: object, depth: int = 0) -> list[str]:
    """The files of an entry, under whatever conditions."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        nested = [leaf for one in value[:MAX_TARGETS] for leaf in _leaves(one, depth + 1)]
        return nested[:MAX_TARGETS]
    if not isinstance(value, dict) or depth > 5:
        return []
    known = [key for key in _CONDITIONS if key in value]
    others = [key for key in value if key not in known]
    nested = [
        leaf for key in [*known, *others][:MAX_TARGETS] for leaf in _leaves(value[key], depth + 1)
    ]
    return nested[:MAX_TARGETS]


def _place(folder: str, top: str, given: str) -> str | None:
    """A path of a setting, from the root of the repository."""
    if given.startswith("${configDir}"):
        return normalize(top, given.removeprefix("${configDir}").lstrip("/") or ".")
    return normalize(folder, given)


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _strings(value: object) -> list[str]:
    return [one for one in _list(value)[:MAX_TARGETS] if isinstance(one, str)]
