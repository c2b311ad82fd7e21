"""find_references."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain.code import SnapshotEntry
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import check_time_limit
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.parsing import grammar_of
from idea_explorer.tools.code.parsing.modules import shorten
from idea_explorer.tools.code.parsing.references import find_uses
from idea_explorer.tools.code.patterns import MAX_TEXT, literal_pattern
from idea_explorer.tools.code.ranking import rank_path
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.search import Scope, resolve_scope
from idea_explorer.tools.code.workspace import TIME_LIMIT, Workspace, find_words

By = Literal["parser", "word"]
MAX_PLACES = 10_000  # in one file; more are those of data


class FindReferences(Arguments):
    symbol: Annotated[
        str,
        Field(min_length=1, max_length=MAX_TEXT, description="Name, without what it belongs to"),
        Rule("non-empty name"),
    ]
    path: Scope = "."


@dataclass(frozen=True, slots=True)
class _Use:
    path: str
    line: int
    text: str
    by: By


@tool(example={"symbol": "formatDate"}, time_limit=TIME_LIMIT)
def find_references(workspace: Workspace, arguments: FindReferences) -> ToolResult:
    """Find every line where a name is used, up to 200, source code first; total says how many there are.
    by=parser: a parser saw the name in the code; by=word: the word is there, maybe in a comment or a
    string. kind tells the lines that define or import it. Names are compared, not what they mean: two
    things with the same name are both found. find_definition finds the definition alone."""
    tree, limits = workspace.tree, workspace.limits
    name = arguments.symbol.strip()
    scope = resolve_scope(tree, arguments.path)
    uses = [*_uses(tree, name, scope)] if name else []
    kinds = _kinds(workspace, name) if uses else {}
    uses.sort(key=lambda use: (rank_path(use.path), use.path, use.line))
    shown: list[JsonObject] = [
        {
            "file": use.path,
            "line": use.line,
            "kind": kinds.get((use.path, use.line), "use"),
            "by": use.by,
            "text": use.text,
        }
        for use in uses[: limits.max_importers]
    ]
    by_word = sum(use.by == "word" for use in uses)
    return ToolResult.success(
        {
            "symbol": arguments.symbol,
            "references": [*shown],
            "total": len(uses),
            "byParser": len(uses) - by_word,
            "byWord": by_word,
            "files": len({use.path for use in uses}),
        },
        f"{len(uses)} uses of '{arguments.symbol}'",
        result_count=len(shown),
    )


def _uses(tree: RepositoryTree, name: str, scope: str) -> Iterator[_Use]:
    """One for each line of each file that has the name as a whole word."""
    word = name.encode("utf-8", "replace")
    inside = f"{scope}/" if scope else ""
    for entry in tree.files_with(literal_pattern(name)):
        check_time_limit()
        if entry.path.startswith(inside) or entry.path == scope:
            yield from _uses_in(tree, entry, word)


def _uses_in(tree: RepositoryTree, entry: SnapshotEntry, word: bytes) -> Iterator[_Use]:
    content = tree.content(entry)
    places = find_words(content, word, MAX_PLACES)
    grammar = grammar_of(entry.path)
    seen = find_uses(grammar, content, word, places) if grammar and places else None
    parsed = {*seen.parsed} if seen else set()
    found = sorted([*seen.parsed, *seen.unparsed]) if seen else places
    shown = tree.shown(entry) if found else b""  # as long, with masks in the place of keys
    line, counted = 1, 0
    last = 0
    for at in found:
        line += content.count(b"\n", counted, at)
        counted = at
        if line != last:
            start = content.rfind(b"\n", 0, at) + 1
            end = content.find(b"\n", at)
            around = shown[max(start, at - 200) : min(end if end >= 0 else len(content), at + 200)]
            yield _Use(entry.path, line, shorten(around), "parser" if at in parsed else "word")
            last = line


def _kinds(workspace: Workspace, name: str) -> dict[tuple[str, int], str]:
    """The lines that define or import the name."""
    tree, index = workspace.tree, workspace.index
    imported = {(path, found.line): "import" for path, found in index.bindings(tree, name)}
    defined = {(path, found.line): "definition" for path, found in index.definitions(tree, name)}
    return imported | defined
