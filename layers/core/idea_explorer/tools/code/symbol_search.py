"""find_definition."""

import re
from typing import Annotated, Literal

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain.code import Definition
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.text import pluralize
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.parsing.modules import module_segments
from idea_explorer.tools.code.patterns import MAX_TEXT, literal_pattern
from idea_explorer.tools.code.ranking import rank_path
from idea_explorer.tools.code.read import split_lines
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.unindexed import describe_unindexed, has_no_index
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


@tool(example={"symbol": "UserService", "type": "class"}, time_limit=TIME_LIMIT)
def find_definition(workspace: Workspace, arguments: FindDefinition) -> ToolResult:
    """Find where a function, class, variable or import is defined, from a parser (Python, JavaScript,
    TypeScript, Vue, Svelte, Go, Rust, Java, Kotlin, C, C++, C#, PHP, Ruby). Use it before search_files when
    you know the name. Shows up to 50; total says how many there are: 0 means that nothing defines it, null
    that files without an index contain the name."""
    tree = workspace.tree
    symbol = arguments.symbol
    *outer, name = [part for part in _SEPARATOR.split(symbol.strip()) if part] or [""]
    found = _of_kind(workspace, name, arguments.type)
    found = [located for located in found if _is_inside(located, outer)]
    found.sort(key=_rank)
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
    unknown = 0 if found or not name else _count_unindexed(tree, name)
    answer: JsonObject = {
        "symbol": symbol,
        "definitions": [*shown],
        "total": None if unknown else len(found),
    }
    if unknown:
        contain = "contains" if unknown == 1 else "contain"
        files = f"{pluralize(unknown, 'file')} without an index {contain} the name"
        answer["note"] = f"{files}: use search_files."
    if unindexed := describe_unindexed(tree):
        answer["notIndexed"] = [*unindexed]
    count = "no definitions" if unknown else pluralize(len(found), "definition")
    return ToolResult.success(answer, f"{count} of '{symbol}'", result_count=len(shown))


def _rank(located: Located) -> tuple[bool, bool, bool, int, str, int]:
    """A class before the variable that holds it, what is at the top before methods of the same name, and
    source code before tests and what is generated."""
    path, found = located
    is_nested = bool(found.container)
    is_variable = found.kind == "variable"
    return found.kind != "class", is_nested, is_variable, rank_path(path), path, found.line


def _count_unindexed(tree: RepositoryTree, name: str) -> int:
    """How many files of source code without a parser contain a name."""
    return sum(has_no_index(entry.path) for entry in tree.files_with(literal_pattern(name)))


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
