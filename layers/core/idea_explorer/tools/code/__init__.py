"""The code toolset: a repository at one commit, and changes to it that a person approves."""

from collections.abc import Callable

from idea_explorer.agent.toolset import Tool, Toolset
from idea_explorer.ports import Checks
from idea_explorer.tools.code.checks import CheckCalls
from idea_explorer.tools.code.importer_search import find_importers
from idea_explorer.tools.code.masking import guard
from idea_explorer.tools.code.propose import create_file, delete_file, edit_file, move_file
from idea_explorer.tools.code.read import list_files, read_file
from idea_explorer.tools.code.reference_search import find_references
from idea_explorer.tools.code.search import find_files, search_files
from idea_explorer.tools.code.symbol_search import find_definition
from idea_explorer.tools.code.workspace import Workspace

__all__ = ["Workspace", "code_tools"]

FUNCTIONS = (
    read_file,
    list_files,
    search_files,
    find_files,
    find_definition,
    find_importers,
    find_references,
    edit_file,
    create_file,
    delete_file,
    move_file,
)


def code_tools(
    workspace: Workspace, close: Callable[[], None] = lambda: None, checks: Checks | None = None
) -> Toolset:
    limits = workspace.limits
    numbers = {
        "max_read_lines": limits.max_read_lines,
        "page_size": limits.page_size,
        "max_matches": limits.max_matches,
    }
    tools = [Tool.of(f, workspace, **numbers) for f in FUNCTIONS]
    if checks:
        tools.append(Tool.of(CheckCalls(checks).run_checks))
    return Toolset([guard(made, workspace) for made in tools], close=close)
