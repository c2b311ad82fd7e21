"""Anthropic's web search: declared to the model, run at Anthropic, seen here only in its answers."""

from idea_explorer.agent.toolset import ServerTool
from idea_explorer.domain import limits
from idea_explorer.domain.json import Block

NAME = "web_search"
DIRECT_VERSION = "web_search_20250305"


def web_search(version: str = DIRECT_VERSION) -> ServerTool:
    """Later versions call from code unless told otherwise, which would hide searches from the log."""
    definition: Block = {"type": version, "name": NAME, "max_uses": limits.MAX_SEARCHES_PER_CALL}
    if version != DIRECT_VERSION:
        definition["allowed_callers"] = ["direct"]
    return ServerTool(NAME, definition)
