"""find_importers."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain.code import Import
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.import_query import parse_module_path
from idea_explorer.tools.code.parsing.modules import has_ending
from idea_explorer.tools.code.patterns import MAX_TEXT
from idea_explorer.tools.code.unindexed import describe_unindexed, has_no_index
from idea_explorer.tools.code.workspace import TIME_LIMIT, Workspace

Located = tuple[str, Import]  # with the path of the importing file
MAX_NAMES = 100  # that a file passes on, of which the importers are looked for


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


@tool(example={"modulePath": "src/utils/dates.ts"}, time_limit=TIME_LIMIT)
def find_importers(workspace: Workspace, arguments: FindImporters) -> ToolResult:
    """Find every file that imports a module or a symbol, from a parser: aliases of tsconfig.json, packages
    of a workspace, index files and crates are followed. Use it BEFORE you change what others use. Shows up to
    200; total says how many there are, and notIndexed which files are not known."""
    asked = arguments.modulePath
    found = {
        (path, imported.line): imported.statement for path, imported in _find(workspace, asked)
    }
    shown: list[JsonObject] = [
        {"file": path, "line": line, "statement": found[path, line]}
        for path, line in sorted(found)[: workspace.limits.max_importers]
    ]
    unknown = not found and has_no_index(asked)
    answer: JsonObject = {
        "modulePath": asked,
        "importers": [*shown],
        "total": None if unknown else len(found),
    }
    if unindexed := describe_unindexed(workspace.tree):
        answer["notIndexed"] = [*unindexed]
    count = "no index for" if unknown else f"{len(found)} imports of"
    return ToolResult.success(answer, f"{count} '{asked}'", result_count=len(shown))


def _find(workspace: Workspace, asked: str) -> Iterator[Located]:
    """By the rules of the language, if a file is meant; otherwise by name."""
    is_path = "/" in asked or has_ending(asked.strip())
    files = workspace.resolver.find_files(asked) if is_path else []
    folder = asked.strip().removeprefix("./").strip("/")
    if is_path and workspace.tree.is_folder(folder):
        yield from _of_files(workspace, asked, [*files, f"{folder}/"])
    elif files:
        yield from _of_files(workspace, asked, files)
    else:
        yield from _by_name(workspace, asked)


def _of_files(workspace: Workspace, asked: str, files: list[str]) -> Iterator[Located]:
    resolver, tree = workspace.resolver, workspace.tree
    by_name = parse_module_path(asked, tree)
    # Go imports folders, not files
    wanted = {*files, *(f"{f.rpartition('/')[0]}/" for f in files if f.endswith(".go"))}
    todo = {last for file in wanted for last in resolver.last_segments(file.rstrip("/"))}
    todo |= by_name.last_segments if by_name else set()
    done: set[str] = set()
    while todo - done:
        last = min(todo - done)
        done.add(last)
        for path, imported in workspace.index.imports(tree, last):
            meant = resolver.resolve(path, imported)
            if meant is None:
                is_meant = by_name is not None and by_name.matches(imported, path)
            else:
                is_meant = not wanted.isdisjoint(meant)
            if is_meant:
                yield path, imported
                if len(done) < MAX_NAMES:
                    todo |= resolver.names_passed_on(path, imported, files)


def _by_name(workspace: Workspace, asked: str) -> Iterator[Located]:
    module = parse_module_path(asked, workspace.tree)
    for last in module.last_segments if module else ():
        for path, imported in workspace.index.imports(workspace.tree, last):
            if module and module.matches(imported, path):
                yield path, imported
