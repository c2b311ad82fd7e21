"""read_file and list_files."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain.code import SnapshotEntry
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import check_repository_path
from idea_explorer.domain.repository_settings import SETTINGS_FILE
from idea_explorer.domain.secret_files import is_secret_file
from idea_explorer.domain.text import pluralize
from idea_explorer.domain.tools import ToolResult, make_passage
from idea_explorer.tools.code.parsing import language_of
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.workspace import TIME_LIMIT, Workspace

FilePath = Annotated[
    str,
    Field(min_length=1, description="Path of the file"),
    Rule("non-empty path relative to the root"),
]
PageNumber = Annotated[int, Field(ge=1, description="Page of the results"), Rule("integer from 1")]
Line = Annotated[int, Field(ge=1), Rule("integer from 1")]


class ReadFile(Arguments):
    path: FilePath
    line_start: Annotated[Line, Field(description="First line to read")] = 1
    line_end: Annotated[Line | None, Field(description="Last line to read, included")] = None


class ListFiles(Arguments):
    path: Annotated[
        str,
        Field(min_length=1, description="Folder; '.' is the root"),
        Rule("folder relative to the root, '.' for the root"),
    ]
    recursive: Annotated[
        bool, Field(description="Also list everything below"), Rule("true or false")
    ] = False
    page: PageNumber = 1


@tool(example={"path": "src/app.py", "line_start": 1, "line_end": 80}, time_limit=TIME_LIMIT)
def read_file(workspace: Workspace, arguments: ReadFile) -> ToolResult:
    """Read a text file with line numbers, as {n}\\t{line}, $max_read_lines lines at most at a time. Give
    line_start and line_end when you know which part you need. ALWAYS read a file before you edit it."""
    entry = find_text_file(workspace.tree, arguments.path, workspace.limits)
    lines = split_lines(workspace.tree.shown(entry).decode("utf-8", "replace"))
    last = min(arguments.line_end or len(lines), len(lines))
    _check_lines(arguments, len(lines))
    shown, is_whole = _numbered(lines, arguments.line_start, last, workspace.limits)
    content = "\n".join(shown)
    line_end = arguments.line_start + len(shown) - 1
    return ToolResult.success(
        {
            "path": entry.path,
            "content": content,
            "line_start": arguments.line_start,
            "line_end": line_end,
            "total_lines": len(lines),
            "language": language_of(entry.path),
            "truncated": not is_whole,
            "bytes": entry.size,
        },
        f"Read {entry.path}, lines {arguments.line_start} to {line_end} of {len(lines)}",
        size=entry.size,
        passages=[make_passage(f"{entry.path}:{arguments.line_start}-{line_end}", content)],
    )


def find_text_file(tree: RepositoryTree, given: str, limits: CodeLimits) -> SnapshotEntry:
    """The text file at a path, with links resolved; raises ToolError if there is none."""
    path = tree.resolve(check_repository_path(given))
    entry = tree.entry(path)
    if entry is None and tree.is_folder(path):
        raise ToolError("not_a_file", f"Path is not a file: {given}. Use list_files for folders.")
    if entry is None:
        raise ToolError(
            "file_not_found", f"File not found: {given}. Use find_files to find it by name."
        )
    check_not_secret(entry.path, tree)
    if entry.content == "binary":
        raise ToolError("binary_file", f"File is binary: {given} ({entry.size:,} bytes)")
    if entry.content == "large":
        message = f"File exceeds {limits.max_file_bytes:,} bytes: {given} ({entry.size:,} bytes)"
        raise ToolError("file_too_large", message)
    return entry


def check_not_secret(path: str, tree: RepositoryTree) -> None:
    """Raise ToolError for a key file; everything that reads or changes a file asks this first."""
    if is_secret_file(path, tree.allowed_files):
        raise ToolError(
            "secret_file",
            f"{path} is a file for keys or passwords, so it is never read or changed here. A person can"
            f" allow it by name in {SETTINGS_FILE}: [files] allow.",
        )


def split_lines(text: str) -> list[str]:
    """Lines without their ends. Only a line feed ends a line, as in every editor."""
    lines = text.removeprefix("\ufeff").split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _check_lines(arguments: ReadFile, total: int) -> None:
    if arguments.line_start > max(total, 1):
        raise ToolError(
            "invalid_arguments",
            f"read_file requires 'line_start' parameter (at most {total}, the file's last line).",
        )
    if arguments.line_end is not None and arguments.line_end < arguments.line_start:
        raise ToolError(
            "invalid_arguments", "read_file requires 'line_end' parameter (not before line_start)."
        )


def _numbered(
    lines: list[str], first: int, last: int, limits: CodeLimits
) -> tuple[list[str], bool]:
    """The lines from first to last as `{n}\\t{line}`, and whether all of them fit."""
    shown: list[str] = []
    room = limits.max_read_chars
    for number in range(first, min(last, first + limits.max_read_lines - 1) + 1):
        line = f"{number}\t{lines[number - 1]}"
        if len(line) > room and shown:
            return shown, False
        shown.append(line[:room])
        if len(line) > room:
            return shown, False
        room -= len(line) + 1
    return shown, first + len(shown) > last


@tool(example={"path": "."}, time_limit=TIME_LIMIT)
def list_files(workspace: Workspace, arguments: ListFiles) -> ToolResult:
    """List a folder: files, directories and symlinks, $page_size a page. To find files by name use
    find_files instead of recursive."""
    tree = workspace.tree
    path = tree.resolve(check_repository_path(arguments.path))
    if tree.entry(path):
        raise ToolError("not_a_directory", f"Path is not a directory: {arguments.path}")
    if not tree.is_folder(path):
        raise ToolError("file_not_found", f"Directory not found: {arguments.path}")
    paths = tree.children(path)
    if arguments.recursive:
        files = (entry.path for entry in tree.entries_below(path))
        paths = sorted([*files, *tree.folders_below(path)])
    shown, page = paginate(paths, arguments.page, workspace.limits.page_size)
    entries: list[JsonObject] = [_describe(tree, child) for child in shown]
    return ToolResult.success(
        {"path": path or ".", "entries": [*entries], **page},
        f"{pluralize(len(paths), 'entry', 'entries')} in {path or '.'}",
        result_count=len(entries),
    )


def paginate(
    items: Sequence[str], number: int, size: int
) -> tuple[Sequence[str], Mapping[str, int | None]]:
    """The items of a page, none if there is no such page, and the fields that say which page it is."""
    end = number * size
    following = number + 1 if end < len(items) else None
    return items[end - size : end], {"page": number, "total": len(items), "nextPage": following}


def _describe(tree: RepositoryTree, path: str) -> JsonObject:
    entry = tree.entry(path)
    modified = entry.modified if entry else tree.modified(path)
    return {
        "path": path,
        "name": path.rpartition("/")[2],
        "type": entry.kind if entry else "directory",
        "size": entry.size if entry else None,
        "modified": datetime.fromtimestamp(modified, UTC).isoformat().replace("+00:00", "Z"),
    }
