"""find_definition and find_importers."""

import re
from typing import Annotated, Literal

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain.code import Definition
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.import_query import parse_module_path
from idea_explorer.tools.code.parsing.modules import module_segments
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
    to 50; total says how many there are; 0 means that nothing in the repository defines it.
    """
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
    lines = split_lines(tree.content(entry).decode("utf-8", "replace"))
    first, last = max(line - _LINES_BEFORE, 1), min(line + _LINES_AFTER, len(lines))
    return "\n".join(f"{number}\t{lines[number - 1][:200]}" for number in range(first, last + 1))


@tool(example={"modulePath": "src/utils/dates.ts"}, time_limit=TIME_LIMIT)
def find_importers(workspace: Workspace, arguments: FindImporters) -> ToolResult:
    """Find every file that imports a module or a symbol, from a parser and not from text. Use it BEFORE you
    change what others use. Takes a path, a dotted name or a bare symbol; shows up to 200, total says how
    many there are.
    """
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
        {
            "modulePath": asked,
            "importers": [*shown],
            "total": len(found),
        },
        f"{len(found)} imports of '{asked}'",
        result_count=len(shown),
    )
