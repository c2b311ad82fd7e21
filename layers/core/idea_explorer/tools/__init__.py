"""The tools, one module or package per toolset. Their results are data for the model, not instructions."""

from idea_explorer.agent.toolset import ServerTool
from idea_explorer.domain import limits
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.server_tools import BASIC_SEARCH, WEB_FETCH
from idea_explorer.domain.web_scope import ANYWHERE, WebScope

DIRECT_VERSION = BASIC_SEARCH


def web_search(
    version: str = DIRECT_VERSION,
    scope: WebScope = ANYWHERE,
    *,
    dynamic_filtering: bool = False,
) -> ServerTool:
    """Anthropic's web search. Later versions search from code by default and filter what they find; without
    `dynamic_filtering` they are called directly, so that the model reads every result."""
    definition: Block = {
        "type": version,
        "name": "web_search",
        "max_uses": limits.MAX_SEARCHES_PER_CALL,
        **scope.search_fields,
    }
    if version != DIRECT_VERSION and not dynamic_filtering:
        definition["allowed_callers"] = ["direct"]
    example: JsonObject = {"query": "beekeeping permit requirements Berlin 2026"}
    return ServerTool("web_search", definition, "query", "non-empty search string", example)


def web_fetch(
    version: str,
    pages: int,
    scope: WebScope = ANYWHERE,
    *,
    dynamic_filtering: bool = False,
    max_tokens: int = limits.PAGE_TOKENS,
) -> ServerTool:
    """Anthropic's web fetch: at most `pages` in one answer, each of `max_tokens`. It opens addresses that the
    user's messages, search results and pages name. Those in results of our own tools do not count: they
    are files and documents, whose authors could have the run carry their other contents there."""
    definition: Block = {
        "type": version,
        "name": WEB_FETCH,
        "max_uses": pages,
        "max_content_tokens": max_tokens,
        "citations": {"enabled": True},
        "url_sources": {
            "user_input": {"type": "all"},
            "server_tool_results": {"type": "all"},
            "client_tool_results": {"type": "none"},
        },
        **scope.domain_fields,
    }
    if not dynamic_filtering:
        definition["allowed_callers"] = ["direct"]
    example: JsonObject = {"url": "https://www.example.com/permits"}
    return ServerTool(WEB_FETCH, definition, "url", "full http or https URL", example)
