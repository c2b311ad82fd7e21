"""find_definition and find_importers."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain.code import Definition, Import
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.parsing import grammar_of
from idea_explorer.tools.code.parsing.modules import has_ending, module_segments
from idea_explorer.tools.code.patterns import MAX_TEXT
from idea_explorer.tools.code.read import split_lines
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.workspace import TIME_LIMIT, Workspace

Located = tuple[str, Definition]  # with the path of its file
_LINES_BEFORE, _LINES_AFTER = 1, 4
_SEPARATOR = re.compile(r"\.|::|#|->")


class FindDefinition(Arguments):
    symbol: Annotated[
        str,
        Field(min_length=1, max_length=MAX_TEXT, description="Name, or Class.method"),
        Rule("non-empty name"),
    ]
    type: Annotated[
        Literal["function", "class", "variable", "import"] | None,
        Field(description="Only this kind; methods are functions, interfaces and structs classes"),
        Rule("function, class, variable or import"),
    ] = None


class FindImporters(Arguments):
    modulePath: Annotated[  # noqa: N815  the contract's name
        str,
        Field(
            min_length=1,
            max_length=MAX_TEXT,
            description="Path (src/utils/dates.ts), dotted name (app.models) or symbol (formatDate)",
        ),
        Rule("non-empty path, dotted name or symbol"),
    ]


@tool(example={"symbol": "UserService", "type": "class"}, time_limit=TIME_LIMIT)
def find_definition(workspace: Workspace, arguments: FindDefinition) -> ToolResult:
    """Find where a function, class, variable or import is defined, from a parser and not from text (Python,
    JavaScript, TypeScript, Go, Rust, Java, C). Use it before search_files when you know the name. Shows up
    to 50; total says how many there are; 0 means that nothing in the repository defines it."""
    tree = workspace.tree
    symbol = arguments.symbol
    *outer, name = [part for part in _SEPARATOR.split(symbol.strip()) if part] or [""]
    found = _of_kind(workspace, name, arguments.type)
    found = [located for located in found if _is_inside(located, outer)]
    # top-level definitions before methods of the same name
    found.sort(key=lambda located: (bool(located[1].container), located[0], located[1].line))
    shown: list[JsonObject] = [
        {
            "file": path,
            "line": definition.line,
            "kind": definition.kind,
            "signature": definition.signature,
            "context": _context(tree, path, definition.line),
        }
        for path, definition in found[: workspace.limits.max_definitions]
    ]
    return ToolResult.success(
        {"symbol": symbol, "definitions": [*shown], "total": len(found)},
        f"{len(found)} definitions of '{symbol}'",
        result_count=len(shown),
    )


def _of_kind(workspace: Workspace, name: str, kind: str | None) -> list[Located]:
    """Imports count as definitions only if they are asked for, or if there is no other definition."""
    if not name:
        return []
    tree = workspace.tree
    defined = [
        located
        for located in workspace.index.definitions(tree, name)
        if kind in {None, located[1].kind}
    ]
    if kind not in {None, "import"} or defined:
        return defined
    bound = {
        (path, imported.line): imported for path, imported in workspace.index.bindings(tree, name)
    }
    return [
        (path, Definition(name, "import", line, imported.statement))
        for (path, line), imported in bound.items()
    ]


def _is_inside(located: Located, outer: list[str]) -> bool:
    """Whether a definition is inside the classes, modules or packages that a dotted symbol names."""
    path, definition = located
    return {*module_segments(path), *definition.container.split(".")}.issuperset(outer)


def _context(tree: RepositoryTree, path: str, line: int) -> str:
    entry = tree.entry(path)
    if entry is None:
        return ""
    lines = split_lines(tree.shown(entry).decode("utf-8", "replace"))
    first, last = max(line - _LINES_BEFORE, 1), min(line + _LINES_AFTER, len(lines))
    return "\n".join(f"{number}\t{lines[number - 1][:200]}" for number in range(first, last + 1))


@tool(example={"modulePath": "src/utils/dates.ts"}, time_limit=TIME_LIMIT)
def find_importers(workspace: Workspace, arguments: FindImporters) -> ToolResult:
    """Find every file that imports a module or a symbol, from a parser and not from text. Use it BEFORE you
    change what others use. Takes a path, a dotted name or a bare symbol; shows up to 200, total says how
    many there are."""
    tree = workspace.tree
    asked = arguments.modulePath
    module = parse_module_path(asked, tree)
    found = {
        (path, imported.line): imported.statement
        for last in (module.last_segments if module else ())
        for path, imported in workspace.index.imports(tree, last)
        if module and module.matches(imported, path)
    }
    shown: list[JsonObject] = [
        {"file": path, "line": line, "statement": found[path, line]}
        for path, line in sorted(found)[: workspace.limits.max_importers]
    ]
    return ToolResult.success(
        {"modulePath": asked, "importers": [*shown], "total": len(found)},
        f"{len(found)} imports of '{asked}'",
        result_count=len(shown),
    )


Segments = tuple[str, ...]

# An absolute import may leave out leading folders (`app/models` for `src/app/models.py`). In these
# languages a single segment is always an external package.
_LEAST = {"javascript": 2, "java": 2}
_FAMILIES = {"typescript": "javascript", "tsx": "javascript"}
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
        family = _family(importer)
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
    return frozenset(filter(None, map(_family, paths)))


def _family(path: str) -> str:
    grammar = grammar_of(path) or ""
    return _FAMILIES.get(grammar, grammar)


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
