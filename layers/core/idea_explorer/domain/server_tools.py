"""Anthropic's web tools, which run on its servers: which versions each provider and model takes.

From Anthropic's documentation of web search, web fetch and server tools, as of the autumn of 2026. Older
versions stay available; the newest ones can filter results by code before the model reads them (dynamic
filtering). Amazon Bedrock has neither tool.
"""

from collections.abc import Mapping
from dataclasses import replace

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.json import Block

BASIC_SEARCH = "web_search_20250305"
WEB_FETCH = "web_fetch"
# By the type of a result block, the tool that it is a result of.
RESULT_TYPES: Mapping[str, str] = {
    "web_search_tool_result": "web_search",
    "web_fetch_tool_result": WEB_FETCH,
}
PAGE_MARGIN = 1.25  # the API's limit for the tokens of a page is approximate


@dataclass(frozen=True, slots=True)
class WebTools:
    """`search` and `fetch` are versions; None is a tool that the provider does not have. A model that
    `filters` can call the tools from code."""

    search: str
    fetch: str | None
    filters: bool


BASIC = WebTools(search=BASIC_SEARCH, fetch="web_fetch_20250910", filters=False)
NEWEST = WebTools(search="web_search_20260318", fetch="web_fetch_20260318", filters=True)
# Dynamic filtering came with the models of version 4.6. What is not listed gets what every model takes.
MODELS: Mapping[str, WebTools] = {
    "claude-sonnet-5-5": NEWEST,
    "claude-opus-5-5": NEWEST,
    "claude-haiku-5-5": NEWEST,
    "claude-sonnet-5": NEWEST,
    "claude-opus-5": NEWEST,
    "claude-opus-4-8": NEWEST,
    "claude-opus-4-7": NEWEST,
    "claude-opus-4-6": NEWEST,
    "claude-sonnet-4-6": NEWEST,
}
# Claude Platform on AWS has the features of Anthropic's own API. The offline model calls no server tools.
PROVIDERS_WITH_FETCH = frozenset({"anthropic", "aws"})


def find_web_tools(provider: str, model_id: str) -> WebTools:
    if provider not in PROVIDERS_WITH_FETCH:
        return replace(BASIC, fetch=None)
    return MODELS.get(model_id, BASIC)


def is_server_tool(tool: Block) -> bool:
    """Whether a definition is of a tool that runs at Anthropic: those of our own have no type."""
    return tool.get("type", "custom") != "custom"


def is_search(tool: Block) -> bool:
    return str(tool.get("type")).startswith("web_search_")


def is_fetch(tool: Block) -> bool:
    return str(tool.get("type")).startswith("web_fetch_")


def page_tokens(tool: Block) -> int:
    """The most that one page of a web_fetch tool counts as. PDFs have no limit of their own."""
    most = tool.get("max_content_tokens")
    return int(most * PAGE_MARGIN) if isinstance(most, int) else 0


def max_uses(tool: Block) -> int:
    uses = tool.get("max_uses")
    return uses if isinstance(uses, int) else 0
