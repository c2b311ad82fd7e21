"""The tools, one module or package per toolset. Their results are data for the model, not instructions."""

from idea_explorer.agent.toolset import ServerTool
from idea_explorer.domain import limits
from idea_explorer.domain.json import Block

DIRECT_VERSION = "web_search_20250305"


def web_search(version: str = DIRECT_VERSION) -> ServerTool:
    """Anthropic's web search. Later versions search from code by default, which would hide searches from
    the log, so they are called directly."""
    definition: Block = {
        "type": version,
        "name": "web_search",
        "max_uses": limits.MAX_SEARCHES_PER_CALL,
    }
    if version != DIRECT_VERSION:
        definition["allowed_callers"] = ["direct"]
    return ServerTool("web_search", definition)
