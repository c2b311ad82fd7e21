"""edit_file, create_file, delete_file and move_file, which propose a change and write nothing."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from idea_explorer.agent.toolset import Arguments, MayBeBlank, Rule, tool
from idea_explorer.domain.approvals import Proposal, propose, propose_delete, propose_move
from idea_explorer.domain.code import SnapshotEntry
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import RepositoryPath, check_repository_path
from idea_explorer.domain.replacements import Replacement, ReplacementError, replace_in
from idea_explorer.domain.text import is_blank
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.read import FilePath, find_text_file
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.workspace import TIME_LIMIT, Workspace

MAX_REPLACEMENTS = 100  # of one call; a change in more places is better made in steps
FIND_OR_CREATE = "Use find_files to find it by name, or create_file for a new file."
EITHER = (
    "edit_file requires either 'replacements' (a list of {old, new}) or 'content' (the complete new content"
    ' of the whole file), and not both. Example: {"path": "src/app.py", "replacements": [{"old": "a = 1",'
    ' "new": "a = 2"}], "description": "Count from two"}'
)

Description = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2_000,
        description="What changes and why, for the person who decides",
    ),
    Rule("non-empty text that says what changes and why"),
]


class ReplacementArguments(Arguments):
    old: Annotated[
        str,
        Field(
            min_length=1,
            description="Copied from the file, without line numbers",
        ),
    ]
    new: Annotated[str, Field(description="What it becomes; may be empty")]


class EditFile(Arguments):
    path: FilePath
    description: Description
    replacements: Annotated[
        list[ReplacementArguments] | None,
        Field(
            min_length=1,
            max_length=MAX_REPLACEMENTS,
        ),
        Rule("a list of {old, new}, each old exactly once in the file"),
    ] = None
    content: Annotated[
        str | None,
        Field(
            min_length=1,
            description="The COMPLETE new content of the whole file",
        ),
        Rule("the complete new content of the whole file"),
    ] = None

    @model_validator(mode="after")
    def _takes_one(self) -> Self:
        has_content = self.content is not None and not is_blank(self.content)
        if has_content == (self.replacements is not None):
            raise ToolError("invalid_arguments", EITHER)
        return self


class CreateFile(Arguments):
    path: FilePath
    content: Annotated[
        str,
        MayBeBlank(),
        Field(description="The complete content; may be empty"),
        Rule("the complete content of the new file"),
    ]
    description: Description


class DeleteFile(Arguments):
    path: FilePath
    description: Description


class MoveFile(Arguments):
    path: FilePath
    new_path: Annotated[
        str,
        Field(min_length=1, description="Where the file goes"),
        Rule("non-empty path relative to the root"),
    ]
    description: Description


@tool(
    example={
        "path": "src/app.py",
        "replacements": [{"old": "print('hello')", "new": "# Greets\nprint('hello')"}],
        "description": "Add a comment that says what the line is for",
    },
    reads_only=False,
    time_limit=TIME_LIMIT,
)
def edit_file(workspace: Workspace, arguments: EditFile) -> ToolResult:
    """Propose a change to a file that exists. Give replacements, only what changes: each old is in the file
    EXACTLY ONCE, with enough lines around it to be unique. content, the COMPLETE new content of the whole
    file, is for short files only: a long one does not fit into an answer. For a file that does not exist
    use create_file."""
    limits = workspace.limits
    entry = _find_file(workspace.tree, arguments.path, limits, FIND_OR_CREATE)
    base = workspace.tree.content(entry)
    content = arguments.content
    if content is None:
        content = _replace(base.decode("utf-8"), arguments)
    _check_content(content, limits)
    # the file's own path, with links resolved
    proposal = propose(RepositoryPath(entry.path), content, arguments.description, base)
    if not proposal.diff:
        message = f"{arguments.path} has this content already: there is nothing to change."
        raise ToolError("invalid_arguments", message)
    return _result(proposal)


def _replace(text: str, arguments: EditFile) -> str:
    given = [Replacement(one.old, one.new) for one in arguments.replacements or ()]
    try:
        return replace_in(text, given)
    except ReplacementError as error:
        raise ToolError("invalid_arguments", f"{arguments.path}: {error}") from error


@tool(
    example={
        "path": "docs/usage.md",
        "content": "# Usage\n",
        "description": "Start a page about usage",
    },
    reads_only=False,
    time_limit=TIME_LIMIT,
)
def create_file(workspace: Workspace, arguments: CreateFile) -> ToolResult:
    """Propose a new file. For a file that exists use edit_file."""
    path = _free_path(workspace.tree, arguments.path)
    _check_content(arguments.content, workspace.limits)
    return _result(propose(path, arguments.content, arguments.description, None))


@tool(
    example={"path": "src/old_app.py", "description": "Remove what nothing imports any more"},
    reads_only=False,
    time_limit=TIME_LIMIT,
)
def delete_file(workspace: Workspace, arguments: DeleteFile) -> ToolResult:
    """Propose to delete a text file. Call find_importers first. To give a file another name use move_file."""
    tree = workspace.tree
    _refuse_link(tree, arguments.path)
    entry = _find_file(tree, arguments.path, workspace.limits)
    path = RepositoryPath(entry.path)
    return _result(propose_delete(path, arguments.description, tree.content(entry)))


@tool(
    example={
        "path": "src/util.py",
        "new_path": "src/dates.py",
        "description": "Name the module by what is in it",
    },
    reads_only=False,
    time_limit=TIME_LIMIT,
)
def move_file(workspace: Workspace, arguments: MoveFile) -> ToolResult:
    """Propose to move or rename a text file, to a path that is free. The content stays as it is: call
    find_importers first, and propose the edits that the move makes necessary as well."""
    tree = workspace.tree
    _refuse_link(tree, arguments.path)
    entry = _find_file(tree, arguments.path, workspace.limits)
    target = _free_path(tree, arguments.new_path)
    path = RepositoryPath(entry.path)
    return _result(propose_move(path, target, arguments.description, tree.content(entry)))


def _result(proposal: Proposal) -> ToolResult:
    """What is shown until a person has decided; the model gets its result after that."""
    return ToolResult.success(
        {"path": proposal.path, "decision": "pending", "diff": proposal.diff},
        f"Proposed to {proposal.kind} {proposal.path}",
        proposal=proposal,
    )


def _find_file(
    tree: RepositoryTree, given: str, limits: CodeLimits, hint: str = ""
) -> SnapshotEntry:
    """A file that can be changed: UTF-8 text with a plain name."""
    try:
        entry = find_text_file(tree, given, limits)
    except ToolError as error:
        if error.error_type != "file_not_found" or not hint:
            raise
        message = f"File not found: {given}. {hint}"
        raise ToolError("file_not_found", message) from error
    if not entry.exact:
        raise ToolError("path_validation", f"The file's name is not plain text: {given}")
    _check_encoding(tree.content(entry), given)
    return entry


def _refuse_link(tree: RepositoryTree, given: str) -> None:
    """An edit goes to the file that a link leads to; to delete or move that instead would surprise."""
    asked = check_repository_path(given)
    entry = tree.entry(asked)
    if entry and entry.kind == "symlink":
        message = f"{given} is a link. Name the file itself: {tree.resolve(asked)}"
        raise ToolError("path_validation", message)


def _free_path(tree: RepositoryTree, given: str) -> RepositoryPath:
    """The path of a new file, in a folder that may be new too."""
    asked = check_repository_path(given)
    folder, _, name = asked.rpartition("/")
    parent = tree.resolve(RepositoryPath(folder))
    # a link may lead to where the path itself must not
    path = check_repository_path(f"{parent}/{name}" if parent else name)
    if tree.entry(path):
        raise ToolError("file_exists", f"File exists: {given}. Use edit_file to change it.")
    if tree.is_folder(path):
        raise ToolError("path_validation", f"Path is a directory: {given}")
    segments = parent.split("/")
    for end in range(1, len(segments) + 1):
        if tree.entry("/".join(segments[:end])):
            raise ToolError("path_validation", f"Path leads through a file: {given}")
    return path


def _check_encoding(base: bytes, path: str) -> None:
    try:
        base.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"File is not UTF-8 text, so a change would damage it: {path}"
        raise ToolError("binary_file", message) from error


def _check_content(content: str, limits: CodeLimits) -> None:
    try:
        size = len(content.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ToolError("invalid_arguments", "The content is not Unicode text.") from error
    if "\x00" in content:
        raise ToolError("invalid_arguments", "The content holds NUL characters.")
    if size > limits.max_file_bytes:
        message = f"Content exceeds {limits.max_file_bytes:,} bytes ({size:,} bytes)"
        raise ToolError("file_too_large", message)
