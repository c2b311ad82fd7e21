"""edit_file and create_file, which propose a change and write nothing."""

from typing import Annotated

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, MayBeBlank, Rule, tool
from idea_explorer.domain.approvals import Proposal, propose
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import RepositoryPath, check_repository_path
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.read import FilePath, find_text_file
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.workspace import TIME_LIMIT, Workspace

Description = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2_000,
        description="What changes and why, for the person who decides",
    ),
    Rule("non-empty text that says what changes and why"),
]


class EditFile(Arguments):
    path: FilePath
    content: Annotated[
        str,
        Field(min_length=1, description="The COMPLETE new content of the whole file"),
        Rule("the complete new content of the whole file"),
    ]
    description: Description


class CreateFile(Arguments):
    path: FilePath
    content: Annotated[
        str,
        MayBeBlank(),
        Field(description="The complete content of the new file; may be empty"),
        Rule("the complete content of the new file"),
    ]
    description: Description


@tool(
    example={
        "path": "src/app.py",
        "content": "# Entry point\nprint('hello')\n",
        "description": "Add a comment that says what the file is for",
    },
    reads_only=False,
    time_limit=TIME_LIMIT,
)
def edit_file(workspace: Workspace, arguments: EditFile) -> ToolResult:
    """Propose new content for a file that exists. A person sees the diff and approves, edits or rejects it;
    nothing is written before that. content is the COMPLETE new content of the whole file, NOT a fragment
    and NOT a diff. Read the file first. For a file that does not exist use create_file."""
    tree, limits = workspace.tree, workspace.limits
    try:
        entry = find_text_file(tree, arguments.path, limits)
    except ToolError as error:
        if error.error_type != "file_not_found":
            raise
        message = f"File not found: {arguments.path}. Use create_file for a new file."
        raise ToolError("file_not_found", message) from error
    if not entry.exact:
        raise ToolError("path_validation", f"The file's name is not plain text: {arguments.path}")
    base = tree.content(entry)
    _check_encoding(base, arguments.path)
    _check_content(arguments.content, limits)
    # the file's own path, with links resolved
    proposal = propose(RepositoryPath(entry.path), arguments.content, arguments.description, base)
    if not proposal.diff:
        raise ToolError("invalid_arguments", f"The content is what {arguments.path} holds already.")
    return _result(proposal)


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
    """Propose a new file that does not exist yet. A person sees it and approves, edits or rejects it;
    nothing is written before that. content is the complete content. For a file that exists use edit_file."""
    path = _free_path(workspace.tree, arguments.path)
    _check_content(arguments.content, workspace.limits)
    return _result(propose(path, arguments.content, arguments.description, None))


def _result(proposal: Proposal) -> ToolResult:
    """What is shown until a person has decided; the model gets its result after that."""
    return ToolResult.success(
        {"path": proposal.path, "decision": "pending", "diff": proposal.diff},
        f"Proposed to {proposal.kind} {proposal.path}",
        proposal=proposal,
    )


def _free_path(tree: RepositoryTree, given: str) -> RepositoryPath:
    """The path of a new file, in a folder that may be new too."""
    asked = check_repository_path(given)
    folder, _, name = asked.rpartition("/")
    parent = tree.resolve(RepositoryPath(folder))
    path = RepositoryPath(f"{parent}/{name}" if parent else name)
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
        message = f"File is not UTF-8 text, so an edit would damage it: {path}"
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
