"""edit_file and create_file: they write nothing, they propose."""

from idea_explorer.domain.approvals import Proposal, propose
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import RepositoryPath, check_repository_path
from idea_explorer.domain.tools import ToolOutput
from idea_explorer.tools.code.arguments import CreateFile, EditFile
from idea_explorer.tools.code.reading import readable
from idea_explorer.tools.code.tree import Tree
from idea_explorer.tools.code.workspace import Workspace


def edit_file(workspace: Workspace, arguments: EditFile) -> ToolOutput:
    return _waiting(proposed_edit(workspace.tree, arguments, workspace.limits))


def create_file(workspace: Workspace, arguments: CreateFile) -> ToolOutput:
    return _waiting(proposed_file(workspace.tree, arguments, workspace.limits))


def _waiting(proposal: Proposal) -> ToolOutput:
    """The model gets its result when a person has decided; until then this says what is waited for."""
    return ToolOutput(
        fields={"path": proposal.path, "decision": "pending", "diff": proposal.diff},
        summary=f"Proposed to {proposal.kind} {proposal.path}",
        proposal=proposal,
    )


def proposed_edit(tree: Tree, arguments: EditFile, limits: CodeLimits) -> Proposal:
    """The change of a text file that is there; links are resolved, so the path is the file's own."""
    try:
        entry = readable(tree, arguments.path, limits)
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
    proposal = propose(RepositoryPath(entry.path), arguments.content, arguments.description, base)
    if not proposal.diff:
        raise ToolError("invalid_arguments", f"The content is what {arguments.path} holds already.")
    return proposal


def proposed_file(tree: Tree, arguments: CreateFile, limits: CodeLimits) -> Proposal:
    """A file that is not there yet, in a folder that may not be there yet either."""
    path = _free_path(tree, arguments.path)
    _check_content(arguments.content, limits)
    return propose(path, arguments.content, arguments.description, None)


def _free_path(tree: Tree, given: str) -> RepositoryPath:
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
