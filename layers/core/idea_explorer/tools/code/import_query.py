"""Which imports mean a module, by comparing names: for modules that are no files of the repository, and for
languages whose rules are not known here."""

from idea_explorer.domain.code import Import
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.tools.code.parsing.modules import has_ending, module_segments
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving import family_of

Segments = tuple[str, ...]

# An absolute import may leave out leading folders (`app/models` for `src/app/models.py`). In these
# languages a single segment is always an external package.
_LEAST = {"javascript": 2, "java": 2}
_ALIASES = {"@", "~"}  # names of the source folder in JavaScript projects
_RUST_FOLDER_FILES = {"main.rs", "lib.rs", "mod.rs"}


@dataclass(frozen=True, slots=True)
class ImportQuery:
    """A module, by the names that an import may use for it. An import may be shorter than a path: if it is
    in the same family of languages, and in Python if it begins at the outermost package. If the path is a
    file of the repository, `modules` are all its modules, and an import of another one does not match."""

    names: tuple[Segments, ...]
    is_path: bool = False
    families: frozenset[str] = frozenset()
    package_depth: int = 1
    modules: frozenset[Segments] = frozenset()

    @property
    def last_segments(self) -> set[str]:
        return {name[-1] for name in self.names}

    def matches(self, imported: Import, importer: str) -> bool:
        target, is_rooted = _target(imported, importer)
        for name in self.names:
            if _ends_with(target, name):
                longer = (target[start:] for start in range(len(target) - len(name)))
                return self.modules.isdisjoint(longer)
        if imported.level or not self.is_path:
            return False
        family = family_of(importer)
        least = self.package_depth if family == "python" else _LEAST.get(family, 1)
        return (
            (not self.families or family in self.families)
            and (is_rooted or len(target) >= least)
            and any(_ends_with(name, target) for name in self.names)
        )


def parse_module_path(module_path: str, tree: RepositoryTree) -> ImportQuery | None:
    """Parse the argument `modulePath`; None if it names nothing."""
    text = module_path.strip()
    if "/" in text or has_ending(text):
        is_go = text.endswith(".go")  # Go imports folders, not files
        segments = module_segments(text.rpartition("/")[0] if is_go else text)
        if not segments:
            return None
        name = tuple(segments)
        return ImportQuery(
            (name,),
            is_path=True,
            families=_families(text, tree),
            package_depth=_package_depth(segments, tree),
            modules=tree.modules if name in tree.modules else frozenset(),
        )
    by_dots = tuple(part for part in text.replace("::", ".").replace("#", ".").split(".") if part)
    if not by_dots:
        return None
    # a dot may also be part of a name, as in `user.service`
    return ImportQuery((by_dots,) if by_dots == (text,) else (by_dots, (text,)))


def _package_depth(segments: list[str], tree: RepositoryTree) -> int:
    """How many segments Python needs to name this module: up to its outermost package."""
    depth = 1
    for end in range(len(segments) - 1, 0, -1):
        if not tree.entry(f"{'/'.join(segments[:end])}/__init__.py"):
            break
        depth += 1
    return depth


def _families(path: str, tree: RepositoryTree) -> frozenset[str]:
    """The languages of a file, or of the files in a folder."""
    folder = path.strip("/").removeprefix("./")
    paths = tree.children(folder) if tree.is_folder(folder) else [path]
    return frozenset(filter(None, map(family_of, paths)))


def _target(imported: Import, importer: str) -> tuple[Segments, bool]:
    """The segments of an import, and whether they begin at the root of the repository."""
    *folder, file = importer.split("/")
    target = tuple(segment for segment in imported.target.split("/") if segment)
    is_rust = file.endswith(".rs")
    if imported.level:
        if is_rust and file not in _RUST_FOLDER_FILES:
            folder.append(file.removesuffix(".rs"))  # a Rust file has a folder of the same name
        above = imported.level - 1
        return (*folder[: max(len(folder) - above, 0)], *target), True
    if is_rust and target[:1] == ("crate",):
        root = len(folder) - folder[::-1].index("src") if "src" in folder else 0
        return (*folder[:root], *target[1:]), True
    if target[:1] and target[0] in _ALIASES:
        return target[1:], True
    return target, False


def _ends_with(long: Segments, short: Segments) -> bool:
    return 0 < len(short) <= len(long) and long[len(long) - len(short) :] == short
