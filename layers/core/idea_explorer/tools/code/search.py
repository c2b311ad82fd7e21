"""search_files and find_files."""

from collections import Counter
from collections.abc import Callable, Iterator
from heapq import nsmallest
from itertools import islice
from typing import Annotated

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain.code import SnapshotEntry
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import RepositoryPath, check_repository_path
from idea_explorer.domain.text import is_blank, pluralize
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.patterns import MAX_TEXT, Pattern, any_depth, glob, line_pattern
from idea_explorer.tools.code.ranking import rank_path
from idea_explorer.tools.code.read import PageNumber, paginate, split_lines
from idea_explorer.tools.code.repository_tree import LineMatch, RepositoryTree, TextBuffer
from idea_explorer.tools.code.workspace import TIME_LIMIT, Workspace

Scope = Annotated[
    str,
    Field(description="Only in this folder or file"),
    Rule("path relative to the root"),
]

MAX_CONTEXT = 10
MAX_FOLDERS = 20  # of the summary
MAX_FOLDER_DEPTH = 6
MAX_EXAMPLES = 5  # of files that were skipped for the same reason
FIRST_MATCHES = 3  # of each file, before more of any other one is shown


class SearchFiles(Arguments):
    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_TEXT,
            description="Regular expression (RE2); (?i) ignores case; \\w and \\s are those of Unicode",
        ),
        Rule("non-empty regular expression"),
    ]
    path: Scope = "."
    filePattern: Annotated[  # noqa: N815  the contract's name
        str | None,
        Field(max_length=MAX_TEXT, description="Only in files that match, e.g. *.py, src/**"),
        Rule("file name pattern such as *.py"),
    ] = None
    context: Annotated[
        int,
        Field(ge=0, le=MAX_CONTEXT, description="Lines to show before and after each match"),
        Rule(f"integer from 0 to {MAX_CONTEXT}"),
    ] = 0


class FindFiles(Arguments):
    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_TEXT,
            description="Without a slash, a name in any folder: *.test.ts, DatabaseService*. With a slash,"
            " a path: * and ? stay within one folder, ** spans folders, e.g. src/**/*.ts",
        ),
        Rule("non-empty file name pattern"),
    ]
    path: Scope = "."
    page: PageNumber = 1


@tool(example={"pattern": "TODO|FIXME", "filePattern": "*.py"}, time_limit=TIME_LIMIT)
def search_files(workspace: Workspace, arguments: SearchFiles) -> ToolResult:
    """Search the contents of files with a regular expression, line by line. Shows up to $max_matches
    matches, of more the most telling ones (source before tests, documents and generated files) with counts
    by folder; totalMatches says how many there are, skipped which files were not searched. NOT for
    definitions (find_definition), imports (find_importers) or file names (find_files)."""
    tree, limits = workspace.tree, workspace.limits
    pattern = line_pattern(arguments.pattern)
    scope, is_wanted = _filter(tree, arguments)
    counted: Counter[str] = Counter()
    hits = _hits(tree, pattern, is_wanted, counted)
    best = nsmallest(limits.max_matches, islice(hits, limits.max_counted))
    is_counted = next(hits, None) is None
    total = min(counted.total(), limits.max_counted)
    is_cut = total > len(best)
    found = [_show(buffer, hit, arguments.context, limits) for *_, buffer, hit in best]
    if not is_cut:
        found.sort(key=lambda match: (str(match["file"]), match["line"]))
    left = f"...and {'' if is_counted else 'at least '}{total - len(best)} more"
    answer: JsonObject = {
        "matches": [*found],
        "totalMatches": total,
        "truncated": is_cut,
        "more": left if is_cut else None,
    }
    if not is_counted:
        answer["note"] = f"Counting stopped at {total:,} matches. Use a narrower pattern or path."
    if is_cut:
        answer["folders"] = [*_by_folder(counted)]
    if skipped := _skipped(tree, scope, is_wanted, limits):
        answer["skipped"] = [*skipped]
    return ToolResult.success(
        answer,
        f"{'' if is_counted else 'over '}{pluralize(total, 'match', 'matches')} of '{arguments.pattern}'",
        result_count=len(found),
    )


# Rank, turn, path and position: the order in which matches are shown when there are too many. Tuples, because
# there may be tens of thousands to compare.
_Hit = tuple[int, int, str, int, TextBuffer, LineMatch]


def _hits(
    tree: RepositoryTree,
    pattern: Pattern,
    is_wanted: Callable[[SnapshotEntry], bool],
    counted: Counter[str],
) -> Iterator[_Hit]:
    """Every match, and how many each file has."""
    for buffer in tree.buffers:
        path, rank = "", 0
        for hit in buffer.match_lines(pattern, is_wanted):
            if hit.entry.path != path:
                path = hit.entry.path
                rank = rank_path(path)
            turn = counted[path] // FIRST_MATCHES
            counted[path] += 1
            yield rank, turn, path, hit.at, buffer, hit


def _by_folder(counted: Counter[str]) -> list[JsonObject]:
    """The folders with most matches; deep ones are counted as their parents if there are too many."""
    folders: dict[str, list[int]] = {}
    for depth in range(MAX_FOLDER_DEPTH, 0, -1):
        folders = {}
        for path, count in counted.items():
            above = path.split("/")[:-1][:depth]
            folders.setdefault("/".join(above) or ".", []).append(count)
        if len(folders) <= MAX_FOLDERS:
            break
    ordered = sorted(folders.items(), key=lambda item: (-sum(item[1]), item[0]))
    shown: list[JsonObject] = [
        {"folder": folder, "matches": sum(counts), "files": len(counts)}
        for folder, counts in ordered[:MAX_FOLDERS]
    ]
    if rest := ordered[MAX_FOLDERS:]:
        others: JsonObject = {
            "folder": f"{len(rest)} other folders",
            "matches": sum(sum(counts) for _, counts in rest),
            "files": sum(len(counts) for _, counts in rest),
        }
        shown.append(others)
    return shown


def _skipped(
    tree: RepositoryTree,
    scope: str,
    is_wanted: Callable[[SnapshotEntry], bool],
    limits: CodeLimits,
) -> list[JsonObject]:
    """The files that were not searched, or not all of their text, by reason."""
    reasons = {
        "large": f"larger than {limits.max_file_bytes:,} bytes",
        "binary": "binary, or text in UTF-16",
        "secret": "key files, which are never read",
        "text": "not in UTF-8: searched, but only their ASCII text can match",
    }
    paths: dict[str, list[str]] = {}
    below = tree.entries_below(scope)
    for entry in below if tree.is_folder(scope) else filter(None, [tree.entry(scope)]):
        is_partial = entry.content == "text" and not entry.utf8
        if (is_partial or entry.content in {"large", "binary", "secret"}) and is_wanted(entry):
            paths.setdefault(reasons[entry.content], []).append(entry.path)
    return [
        {"why": reason, "files": len(paths[reason]), "examples": [*paths[reason][:MAX_EXAMPLES]]}
        for reason in reasons.values()
        if reason in paths
    ]


@tool(example={"pattern": "*.test.ts"}, time_limit=TIME_LIMIT)
def find_files(workspace: Workspace, arguments: FindFiles) -> ToolResult:
    """Find files by name or path, NOT by content."""
    tree = workspace.tree
    folder = resolve_scope(tree, arguments.path)
    found, tried = _find(tree, folder, arguments.pattern)
    shown, page = paginate(found, arguments.page, workspace.limits.page_size)
    return ToolResult.success(
        {"files": [*shown], **page, **({"tried": tried} if tried else {})},
        f"{pluralize(len(found), 'file')} named like '{arguments.pattern}'",
        result_count=len(shown),
    )


def _find(tree: RepositoryTree, folder: str, wanted: str) -> tuple[list[str], str]:
    """The paths that match, and what was tried if the pattern as it was given matches none."""
    paths = [entry.path for entry in tree.entries_below(folder)]
    count = pluralize(len(paths), "file")
    skipped = len(folder) + 1 if folder else 0

    def match(pattern: str) -> list[str]:
        compiled = glob(pattern)
        return [path for path in paths if compiled.fullmatch(path[skipped:].encode())]

    if found := match(any_depth(wanted)):
        return found, ""
    where = folder or "the root"
    if "/" not in wanted:
        tried = f"No name in any folder below {where} matches '{wanted}'; {count} tried."
        return [], tried
    tried = f"No path from {where} matches '{wanted}'"
    deeper = f"**/{wanted.removeprefix('./')}"
    if found := match(deeper):
        return found, f"{tried}; these match '{deeper}'."
    return [], f"{tried}, nor does any match '{deeper}'; {count} tried."


def resolve_scope(tree: RepositoryTree, given: str) -> RepositoryPath:
    path = tree.resolve(check_repository_path("." if is_blank(given) else given))
    if not tree.is_folder(path) and not tree.entry(path):
        raise ToolError("path_validation", f"Path not found: {given}")
    return path


def _filter(
    tree: RepositoryTree, arguments: SearchFiles
) -> tuple[str, Callable[[SnapshotEntry], bool]]:
    """The folder or file that is searched, and which of its files."""
    scope = resolve_scope(tree, arguments.path)
    inside = f"{scope}/" if scope else ""
    wanted = arguments.filePattern
    name = glob(any_depth(wanted)) if wanted and not is_blank(wanted) else None
    return (
        scope,
        lambda entry: (
            (entry.path.startswith(inside) or entry.path == scope)
            and (name is None or name.fullmatch(entry.path.encode()) is not None)
        ),
    )


def _show(buffer: TextBuffer, hit: LineMatch, context: int, limits: CodeLimits) -> JsonObject:
    number, line, at = buffer.line(hit)
    limit = limits.max_match_chars
    text = line.decode("utf-8", "replace").rstrip("\r")
    if len(text) > limit:
        # the part of a long line around the match
        first = max(
            min(len(line[:at].decode("utf-8", "replace")) - limit // 4, len(text) - limit), 0
        )
        text = f"{'…' if first else ''}{text[first : first + limit]}…"
    shown: JsonObject = {"file": hit.entry.path, "line": number, "text": text}
    if context:
        shown["context"] = "\n".join(_around(buffer, hit, number, context, limit))
    return shown


def _around(
    buffer: TextBuffer, hit: LineMatch, number: int, context: int, limit: int
) -> Iterator[str]:
    """The lines before and after a match and the line itself, as `{n}\\t{line}`."""
    lines = split_lines(buffer.shown(hit.entry).decode("utf-8", "replace"))
    for n in range(max(number - context, 1), min(number + context, len(lines)) + 1):
        text = lines[n - 1]
        yield f"{n}\t{text[:limit]}{'…' if len(text) > limit else ''}"
