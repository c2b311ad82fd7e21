"""find_definition and find_importers."""

import re

from idea_explorer.domain.code import Definition
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.arguments import FindDefinition, FindImporters
from idea_explorer.tools.code.imports import wanted
from idea_explorer.tools.code.parsing.modules import module_segments
from idea_explorer.tools.code.reading import split_lines
from idea_explorer.tools.code.tree import Tree
from idea_explorer.tools.code.workspace import Workspace

Located = tuple[str, Definition]
_LINES_BEFORE, _LINES_AFTER = 1, 4
_SEPARATOR = re.compile(r"\.|::|#|->")


def find_definition(workspace: Workspace, arguments: FindDefinition) -> ToolResult:
    tree = workspace.tree
    symbol = arguments.symbol
    *outer, name = [part for part in _SEPARATOR.split(symbol.strip()) if part] or [""]
    found = _of_kind(workspace, name, arguments.type)
    found = [located for located in found if _stands_in(located, outer)]
    # what stands alone is more likely meant than a method of the same name
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
        summary=f"{len(found)} definitions of '{symbol}'",
        result_count=len(shown),
    )


def _of_kind(workspace: Workspace, name: str, kind: str | None) -> list[Located]:
    """Imports are definitions only where they are asked for, or where nothing else is known."""
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


def _stands_in(located: Located, outer: list[str]) -> bool:
    """Whether a definition is within the classes, modules or packages that a dotted symbol names."""
    path, definition = located
    return {*module_segments(path), *definition.container.split(".")}.issuperset(outer)


def _context(tree: Tree, path: str, line: int) -> str:
    entry = tree.entry(path)
    if entry is None:
        return ""
    lines = split_lines(tree.content(entry).decode("utf-8", "replace"))
    first, last = max(line - _LINES_BEFORE, 1), min(line + _LINES_AFTER, len(lines))
    return "\n".join(f"{number}\t{lines[number - 1][:200]}" for number in range(first, last + 1))


def find_importers(workspace: Workspace, arguments: FindImporters) -> ToolResult:
    tree = workspace.tree
    asked = arguments.modulePath
    module = wanted(asked, tree)
    found = {
        (path, imported.line): imported.statement
        for last in (module.lasts if module else ())
        for path, imported in workspace.index.imports(tree, last)
        if module and module.is_meant_by(imported, path)
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
        summary=f"{len(found)} imports of '{asked}'",
        result_count=len(shown),
    )
