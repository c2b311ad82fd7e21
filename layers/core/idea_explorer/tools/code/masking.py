"""No key leaves in a result of a code tool, none is lost where a model returns what it has read, and no
change is proposed to a file that only people change."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import JsonValue

from idea_explorer.agent.toolset import Arguments, Tool
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.paths import check_repository_path
from idea_explorer.domain.redaction import has_masks, mask_secrets, restore_secrets
from idea_explorer.domain.repository_settings import (
    SETTINGS_FILE,
    STATE_FOLDER,
    is_settings_file,
    is_state,
)
from idea_explorer.domain.tools import ToolResult
from idea_explorer.tools.code.read import check_not_secret
from idea_explorer.tools.code.workspace import Workspace

# Arguments of tools that propose changes, which name files.
_PATHS = ("path", "new_path", "from", "to", "source", "target", "destination")
# Arguments that are written into the file itself. Any other, such as a description, goes elsewhere as well.
_TEXTS = ("content", "replacements")


def guard(tool: Tool[Any], workspace: Workspace) -> Tool[Any]:
    """The tool with masks in its results and errors, and, if it proposes changes, with the keys back in the
    text for the file. A proposal itself is for the person, who sees the file as it is."""

    def run(arguments: Arguments) -> ToolResult:
        try:
            given = arguments if tool.reads_only else _prepare(arguments, workspace)
            result = tool.run(given)
        except ToolError as error:
            raise ToolError(
                error.error_type,
                mask_secrets(error.message),
                transient=error.transient,
                retry_after=error.retry_after,
            ) from error
        if result.proposal is None:
            return _mask_result(result)
        if not tool.reads_only and result.proposal.kind != "checks":
            for path in filter(None, (result.proposal.path, result.proposal.new_path)):
                _check_changeable(path, workspace)  # links are resolved here
        return result

    return replace(tool, run=run)


def _prepare(arguments: Arguments, workspace: Workspace) -> Arguments:
    """The arguments of a proposal, if it is one that may be made."""
    given: JsonObject = arguments.model_dump(mode="json", exclude_unset=True)
    paths = [path for name in _PATHS if (path := text_of(given.get(name)))]
    for path in paths:
        _check_changeable(check_repository_path(path), workspace)
    texts = {name: given[name] for name in _TEXTS if name in given}
    if not any(map(_has_masks, texts.values())):
        return arguments
    original = _find_content(workspace, paths[0]) if paths else b""
    try:
        restored = {
            k: _map(v, lambda text: restore_secrets(text, original)) for k, v in texts.items()
        }
    except ValueError as error:
        raise ToolError(
            "invalid_arguments",
            f"{error} stands for a key that this file does not hold, or that cannot be told from another"
            " one. Leave masked text where it is, as it is.",
        ) from error
    return type(arguments).model_validate(given | restored)


def _check_changeable(path: str, workspace: Workspace) -> None:
    check_not_secret(path, workspace.tree)
    if is_settings_file(path):
        raise ToolError(
            "path_validation",
            f"{SETTINGS_FILE} is changed by people only: it decides what may run.",
        )
    if is_state(path):
        raise ToolError(
            "path_validation",
            f"{STATE_FOLDER} holds this program's own data, which no change is proposed to.",
        )


def _find_content(workspace: Workspace, path: str) -> bytes:
    tree = workspace.tree
    entry = tree.entry(tree.resolve(check_repository_path(path)))
    return tree.content(entry) if entry and entry.content == "text" else b""


def _mask_result(result: ToolResult) -> ToolResult:
    payload = {key: _map(value, mask_secrets) for key, value in result.payload.items()}
    passages = [replace(p, text=mask_secrets(p.text)) for p in result.passages]
    return replace(
        result, payload=payload, summary=mask_secrets(result.summary), passages=tuple(passages)
    )


def _has_masks(value: JsonValue) -> bool:
    match value:
        case str():
            return has_masks(value)
        case list():
            return any(map(_has_masks, value))
        case dict():
            return any(map(_has_masks, value.values()))
        case _:
            return False


def _map(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """The value with every text in it changed."""
    match value:
        case str():
            return change(value)
        case list():
            return [_map(item, change) for item in value]
        case dict():
            return {key: _map(item, change) for key, item in value.items()}
        case _:
            return value
