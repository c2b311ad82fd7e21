"""The code toolset: a repository at one commit, and changes to it that a person decides."""

from collections.abc import Callable
from functools import partial

from idea_explorer.agent.toolset import Tool, Toolset
from idea_explorer.tools.code.arguments import (
    CreateFile,
    EditFile,
    FindDefinition,
    FindFiles,
    FindImporters,
    ListFiles,
    ReadFile,
    SearchFiles,
)
from idea_explorer.tools.code.finding import find_definition, find_importers
from idea_explorer.tools.code.proposing import create_file, edit_file
from idea_explorer.tools.code.reading import list_files, read_file
from idea_explorer.tools.code.searching import find_files, search_files
from idea_explorer.tools.code.workspace import Workspace

__all__ = ["Workspace", "code_tools"]

# The first call unpacks the repository, and the first question about a common word parses much of it.
TIME_LIMIT = 60.0


def code_tools(workspace: Workspace, close: Callable[[], None] = lambda: None) -> Toolset:
    """The eight tools over one workspace."""
    limits = workspace.limits
    return Toolset(
        [
            Tool(
                name="read_file",
                description=(
                    "Read a text file of the repository with line numbers, as {n}\\t{line},"
                    f" {limits.max_read_lines:,} lines at most at a time. Give line_start and line_end"
                    " when you know which part you need."
                    " ALWAYS read a file before you edit it; never read the same part twice."
                ),
                arguments=ReadFile,
                run=partial(read_file, workspace),
                example={"path": "src/app.py", "line_start": 1, "line_end": 80},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="list_files",
                description=(
                    "List a folder of the repository: files, directories and symlinks,"
                    f" {limits.page_size:,} a page."
                    " Start with it, at '.', to see how the project is laid out. To find files by name"
                    " in the whole tree use find_files instead of recursive."
                ),
                arguments=ListFiles,
                run=partial(list_files, workspace),
                example={"path": "."},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="search_files",
                description=(
                    "Search the contents of files with a regular expression, line by line. Shows up to"
                    f" {limits.max_matches:,} matches; totalMatches says how many there are. Narrow it"
                    " with path and filePattern. NOT for finding where something is defined"
                    " (find_definition), who imports it (find_importers), or files by name (find_files)."
                ),
                arguments=SearchFiles,
                run=partial(search_files, workspace),
                example={"pattern": "TODO|FIXME", "filePattern": "*.py"},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="find_files",
                description=(
                    "Find files by the pattern of their path, NOT by content. * and ? stay within one"
                    " folder, ** spans folders: *.md is only the top folder, **/*.md is everywhere."
                ),
                arguments=FindFiles,
                run=partial(find_files, workspace),
                example={"pattern": "**/*.test.ts"},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="find_definition",
                description=(
                    "Find where a function, class, variable or import is defined, from a parser and not"
                    " from text (Python, JavaScript, TypeScript, Go, Rust, Java, C). Use it before"
                    " search_files when you know the name. Shows up to 50; total says how many there"
                    " are; 0 means that nothing in the repository defines it."
                ),
                arguments=FindDefinition,
                run=partial(find_definition, workspace),
                example={"symbol": "UserService", "type": "class"},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="find_importers",
                description=(
                    "Find every file that imports a module or a symbol, from a parser and not from text."
                    " Use it BEFORE you change what others use. Takes a path, a dotted name or a bare"
                    " symbol; shows up to 200, total says how many there are."
                ),
                arguments=FindImporters,
                run=partial(find_importers, workspace),
                example={"modulePath": "src/utils/dates.ts"},
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="edit_file",
                description=(
                    "Propose new content for a file that exists. A person sees the diff and approves,"
                    " edits or rejects it; nothing is written before that. content is the COMPLETE new"
                    " content of the whole file, NOT a fragment and NOT a diff. Read the file first."
                    " For a file that does not exist use create_file."
                ),
                arguments=EditFile,
                run=partial(edit_file, workspace),
                example={
                    "path": "src/app.py",
                    "content": "# Entry point\nprint('hello')\n",
                    "description": "Add a comment that says what the file is for",
                },
                reads_only=False,
                time_limit=TIME_LIMIT,
            ),
            Tool(
                name="create_file",
                description=(
                    "Propose a new file that does not exist yet. A person sees it and approves, edits or"
                    " rejects it; nothing is written before that. content is the complete content."
                    " For a file that exists use edit_file."
                ),
                arguments=CreateFile,
                run=partial(create_file, workspace),
                example={
                    "path": "docs/usage.md",
                    "content": "# Usage\n",
                    "description": "Start a page about usage",
                },
                reads_only=False,
                time_limit=TIME_LIMIT,
            ),
        ],
        close=close,
    )
