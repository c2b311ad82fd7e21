"""search_files and find_files."""

from collections.abc import Callable
from itertools import islice

from idea_explorer.domain.code import SnapshotEntry
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.paths import RepositoryPath, check_repository_path
from idea_explorer.domain.text import is_blank
from idea_explorer.domain.tools import ToolOutput
from idea_explorer.tools.code.arguments import FindFiles, SearchFiles
from idea_explorer.tools.code.pages import page_of
from idea_explorer.tools.code.patterns import any_depth, glob, line_pattern
from idea_explorer.tools.code.shelves import Hit, TextBuffer
from idea_explorer.tools.code.tree import Tree
from idea_explorer.tools.code.workspace import Workspace


def search_files(workspace: Workspace, arguments: SearchFiles) -> ToolOutput:
    tree, limits = workspace.tree, workspace.limits
    pattern = line_pattern(arguments.pattern)
    is_wanted = _filter(tree, arguments)
    matches: list[JsonObject] = []
    total = 0
    for shelf in tree.shelves:
        hits = shelf.hits(pattern, is_wanted)
        shown = [*islice(hits, limits.max_matches)]
        matches.extend(_match(shelf, hit, limits.max_match_chars) for hit in shown)
        total += len(shown)
        total += sum(1 for _ in islice(hits, max(limits.max_counted - total, 0)))
    matches.sort(key=lambda match: (str(match["file"]), match["line"]))
    matches = matches[: limits.max_matches]
    left = total - len(matches)
    return ToolOutput(
        fields={
            "matches": [*matches],
            "totalMatches": total,
            "truncated": left > 0,
            "more": f"...and {left} more" if left else None,
        },
        summary=f"{total} matches of '{arguments.pattern}'",
        result_count=len(matches),
    )


def find_files(workspace: Workspace, arguments: FindFiles) -> ToolOutput:
    tree = workspace.tree
    folder = _scope(tree, arguments.path)
    pattern = glob(arguments.pattern)
    skipped = len(folder) + 1 if folder else 0
    found = [
        entry.path
        for entry in tree.entries_below(folder)
        if pattern.fullmatch(entry.path[skipped:].encode())
    ]
    page = page_of(found, arguments.page, workspace.limits.page_size)
    return ToolOutput(
        fields={"files": [*page.items], **page.fields},
        summary=f"{page.total} files match '{arguments.pattern}'",
        result_count=len(page.items),
    )


def _scope(tree: Tree, given: str) -> RepositoryPath:
    path = tree.resolve(check_repository_path("." if is_blank(given) else given))
    if not tree.is_folder(path) and not tree.entry(path):
        raise ToolError("path_validation", f"Path not found: {given}")
    return path


def _filter(tree: Tree, arguments: SearchFiles) -> Callable[[SnapshotEntry], bool]:
    scope = _scope(tree, arguments.path)
    inside = f"{scope}/" if scope else ""
    wanted = arguments.filePattern
    name = glob(any_depth(wanted)) if wanted and not is_blank(wanted) else None
    return lambda entry: (
        (entry.path.startswith(inside) or entry.path == scope)
        and (name is None or name.fullmatch(entry.path.encode()) is not None)
    )


def _match(shelf: TextBuffer, hit: Hit, limit: int) -> JsonObject:
    number, line, at = shelf.line(hit)
    text = line.decode("utf-8", "replace").rstrip("\r")
    if len(text) > limit:
        # the part of a long line that has the match in it
        first = max(
            min(len(line[:at].decode("utf-8", "replace")) - limit // 4, len(text) - limit), 0
        )
        text = f"{'…' if first else ''}{text[first : first + limit]}…"
    return {"file": hit.entry.path, "line": number, "text": text}
