"""read_file and list_files."""

from datetime import UTC, datetime

from idea_explorer.domain.code import SnapshotEntry
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.evidence import make_passage
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import check_repository_path
from idea_explorer.domain.tools import ToolOutput
from idea_explorer.tools.code.arguments import ListFiles, ReadFile
from idea_explorer.tools.code.languages import language_of
from idea_explorer.tools.code.pages import page_of
from idea_explorer.tools.code.tree import Tree
from idea_explorer.tools.code.workspace import Workspace


def read_file(workspace: Workspace, arguments: ReadFile) -> ToolOutput:
    entry = readable(workspace.tree, arguments.path, workspace.limits)
    lines = split_lines(workspace.tree.content(entry).decode("utf-8", "replace"))
    last = min(arguments.line_end or len(lines), len(lines))
    _check_lines(arguments, len(lines))
    shown, is_whole = _numbered(lines, arguments.line_start, last, workspace.limits)
    content = "\n".join(shown)
    line_end = arguments.line_start + len(shown) - 1
    return ToolOutput(
        fields={
            "path": entry.path,
            "content": content,
            "line_start": arguments.line_start,
            "line_end": line_end,
            "total_lines": len(lines),
            "language": language_of(entry.path),
            "truncated": not is_whole,
            "bytes": entry.size,
        },
        summary=f"Read {entry.path}, lines {arguments.line_start} to {line_end} of {len(lines)}",
        size=entry.size,
        passages=(make_passage(f"{entry.path}:{arguments.line_start}-{line_end}", content),),
    )


def readable(tree: Tree, given: str, limits: CodeLimits) -> SnapshotEntry:
    """The text file at a path, behind all links; raises ToolError with the reason why there is none."""
    path = tree.resolve(check_repository_path(given))
    entry = tree.entry(path)
    if entry is None and tree.is_folder(path):
        raise ToolError("not_a_file", f"Path is not a file: {given}. Use list_files for folders.")
    if entry is None:
        raise ToolError(
            "file_not_found", f"File not found: {given}. Use find_files to find it by name."
        )
    if entry.content == "binary":
        raise ToolError("binary_file", f"File is binary: {given} ({entry.size:,} bytes)")
    if entry.content == "large":
        message = f"File exceeds {limits.max_file_bytes:,} bytes: {given} ({entry.size:,} bytes)"
        raise ToolError("file_too_large", message)
    return entry


def split_lines(text: str) -> list[str]:
    """Without their ends. Only line feeds end a line, so that numbers agree with every editor."""
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
            "invalid_arguments",
            "read_file requires 'line_end' parameter (not before line_start).",
        )


def _numbered(
    lines: list[str], first: int, last: int, limits: CodeLimits
) -> tuple[list[str], bool]:
    """The lines from first to last as `{n}\\t{line}`, and whether all of them found room."""
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


def list_files(workspace: Workspace, arguments: ListFiles) -> ToolOutput:
    tree = workspace.tree
    path = tree.resolve(check_repository_path(arguments.path))
    if tree.entry(path):
        raise ToolError("not_a_directory", f"Path is not a directory: {arguments.path}")
    if not tree.is_folder(path):
        raise ToolError("file_not_found", f"Directory not found: {arguments.path}")
    paths = _all_below(tree, path) if arguments.recursive else tree.children(path)
    page = page_of(paths, arguments.page, workspace.limits.page_size)
    entries: list[JsonObject] = [_described(tree, child) for child in page.items]
    return ToolOutput(
        fields={"path": path or ".", "entries": [*entries], **page.fields},
        summary=f"{page.total} entries in {path or '.'}",
        result_count=len(entries),
    )


def _all_below(tree: Tree, folder: str) -> list[str]:
    files = (entry.path for entry in tree.entries_below(folder))
    return sorted([*files, *tree.folders_below(folder)])


def _described(tree: Tree, path: str) -> JsonObject:
    entry = tree.entry(path)
    modified = entry.modified if entry else tree.modified(path)
    return {
        "path": path,
        "name": path.rpartition("/")[2],
        "type": entry.kind if entry else "directory",
        "size": entry.size if entry else None,
        "modified": datetime.fromtimestamp(modified, UTC).isoformat().replace("+00:00", "Z"),
    }
