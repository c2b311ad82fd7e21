"""search_files and find_files."""

from collections.abc import Callable
from itertools import islice
from typing import Annotated

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain.code import SnapshotEntry
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.paths import RepositoryPath, check_repository_path
from idea_explorer.domain.text import is_blank
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.patterns import MAX_TEXT, any_depth, glob, line_pattern
from idea_explorer.tools.code.read import PageNumber, paginate
from idea_explorer.tools.code.repository_tree import LineMatch, RepositoryTree, TextBuffer
from idea_explorer.tools.code.workspace import TIME_LIMIT, Workspace

Scope = Annotated[
    str,
    Field(description="Only in this folder or file, relative to the root; default: everywhere"),
    Rule("path relative to the root"),
]


class SearchFiles(Arguments):
    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_TEXT,
            description="Regular expression (RE2), matched within single lines; (?i) ignores case",
        ),
        Rule("non-empty regular expression"),
    ]
    path: Scope = "."
    filePattern: Annotated[  # noqa: N815  the contract's name
        str | None,
        Field(
            max_length=MAX_TEXT, description="Only in files whose name matches, e.g. *.py, src/**"
        ),
        Rule("file name pattern such as *.py"),
    ] = None


class FindFiles(Arguments):
    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_TEXT,
            description="* and ? stay within one folder, ** spans folders, e.g. **/*.test.ts",
        ),
        Rule("non-empty file name pattern"),
    ]
    path: Scope = "."
    page: PageNumber = 1


@tool(example={"pattern": "TODO|FIXME", "filePattern": "*.py"}, time_limit=TIME_LIMIT)
def search_files(workspace: Workspace, arguments: SearchFiles) -> ToolResult:
    """Search the contents of files with a regular expression, line by line. Shows up to $max_matches
    matches; totalMatches says how many there are. Narrow it with path and filePattern. NOT for finding
    where something is defined (find_definition), who imports it (find_importers), or files by name
    (find_files)."""
    tree, limits = workspace.tree, workspace.limits
    pattern = line_pattern(arguments.pattern)
    is_wanted = _filter(tree, arguments)
    matches: list[JsonObject] = []
    total = 0
    for buffer in tree.buffers:
        hits = buffer.match_lines(pattern, is_wanted)
        shown = [*islice(hits, limits.max_matches)]
        matches.extend(_show(buffer, hit, limits.max_match_chars) for hit in shown)
        total += len(shown)
        total += sum(1 for _ in islice(hits, max(limits.max_counted - total, 0)))
    matches.sort(key=lambda match: (str(match["file"]), match["line"]))
    matches = matches[: limits.max_matches]
    left = total - len(matches)
    return ToolResult.success(
        {
            "matches": [*matches],
            "totalMatches": total,
            "truncated": left > 0,
            "more": f"...and {left} more" if left else None,
        },
        f"{total} matches of '{arguments.pattern}'",
        result_count=len(matches),
    )


@tool(example={"pattern": "**/*.test.ts"}, time_limit=TIME_LIMIT)
def find_files(workspace: Workspace, arguments: FindFiles) -> ToolResult:
    """Find files by the pattern of their path, NOT by content. * and ? stay within one folder, ** spans
    folders: *.md is only the top folder, **/*.md is everywhere."""
    tree = workspace.tree
    folder = _scope(tree, arguments.path)
    pattern = glob(arguments.pattern)
    skipped = len(folder) + 1 if folder else 0
    found = [
        entry.path
        for entry in tree.entries_below(folder)
        if pattern.fullmatch(entry.path[skipped:].encode())
    ]
    shown, page = paginate(found, arguments.page, workspace.limits.page_size)
    return ToolResult.success(
        {"files": [*shown], **page},
        f"{len(found)} files match '{arguments.pattern}'",
        result_count=len(shown),
    )


def _scope(tree: RepositoryTree, given: str) -> RepositoryPath:
    path = tree.resolve(check_repository_path("." if is_blank(given) else given))
    if not tree.is_folder(path) and not tree.entry(path):
        raise ToolError("path_validation", f"Path not found: {given}")
    return path


def _filter(tree: RepositoryTree, arguments: SearchFiles) -> Callable[[SnapshotEntry], bool]:
    scope = _scope(tree, arguments.path)
    inside = f"{scope}/" if scope else ""
    wanted = arguments.filePattern
    name = glob(any_depth(wanted)) if wanted and not is_blank(wanted) else None
    return lambda entry: (
        (entry.path.startswith(inside) or entry.path == scope)
        and (name is None or name.fullmatch(entry.path.encode()) is not None)
    )


def _show(buffer: TextBuffer, hit: LineMatch, limit: int) -> JsonObject:
    number, line, at = buffer.line(hit)
    text = line.decode("utf-8", "replace").rstrip("\r")
    if len(text) > limit:
        # the part of a long line around the match
        first = max(
            min(len(line[:at].decode("utf-8", "replace")) - limit // 4, len(text) - limit), 0
        )
        text = f"{'…' if first else ''}{text[first : first + limit]}…"
    return {"file": hit.entry.path, "line": number, "text": text}
