"""The web tools of a run: which versions, on which domains, and who opens its pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.server_tools import WEB_FETCH, find_web_tools
from idea_explorer.domain.transcript import Opening
from idea_explorer.wiring.local import document_reader, system_clock

if TYPE_CHECKING:
    from idea_explorer.agent.toolset import ServerTool, Tool
    from idea_explorer.domain.server_tools import WebTools
    from idea_explorer.domain.web_scope import WebScope
    from idea_explorer.ports import WebPage
    from idea_explorer.tools.fetch_rules import FetchRules
    from idea_explorer.wiring.toolsets import ToolsetContext

HTTP_FETCH = "http_fetch"


class PublicPages:
    """Loads the HTTP client with the first page that is opened: most runs open none."""

    def fetch(self, url: str, may_redirect_to: Callable[[str], bool] | None = None) -> WebPage:
        from idea_explorer.adapters.http.public import PublicHttp

        return PublicHttp(system_clock()).fetch(url, may_redirect_to)


def web_tools(context: ToolsetContext) -> WebTools:
    """What the provider and the model of a run take; outside of a run, those of the default model."""
    name = _model(context)
    return find_web_tools(_provider(context), context.settings.models.get(name, name))


def _model(context: ToolsetContext) -> str:
    return context.exploration.request.model if context.exploration else "sonnet"


def _provider(context: ToolsetContext) -> str:
    return OFFLINE if _model(context) == OFFLINE else context.settings.provider


def search_options(context: ToolsetContext) -> dict[str, Any]:
    """The arguments that decide about web search, the same for every toolset that has it."""
    settings, tools = context.settings, web_tools(context)
    return {
        "web_search_version": settings.web_search_version or tools.search,
        "scope": scope_of(context),
        "dynamic_filtering": settings.dynamic_filtering and tools.filters,
        "search_with_private_text": settings.search_with_private_text,
    }


def scope_of(context: ToolsetContext) -> WebScope:
    default = context.settings.web_scope
    return context.exploration.request.scope_within(default) if context.exploration else default


def fetch_rules(context: ToolsetContext, *, max_pages: int | None = None) -> FetchRules | None:
    """None outside of a run, where a person names the addresses."""
    from idea_explorer.tools.fetch_rules import FetchRules

    if context.exploration is None:
        return None
    return FetchRules(
        context.settings.open_domains,
        allow_after_private=context.exploration.request.allow_fetch_after_private,
        scope=scope_of(context),
        max_pages=max_pages,
    )


def page_reader(
    context: ToolsetContext, rules: FetchRules | None, *, has_research: bool
) -> ServerTool | Tool[Any] | None:
    """What opens the pages of research: Anthropic's web_fetch where private text is no concern, else ours,
    which follows the rules of docs/security.md. A run that has begun keeps what it began with."""
    from idea_explorer.tools import web_fetch

    settings, tools = context.settings, web_tools(context)
    declared = _declared(context)
    if declared is not None and not declared & {WEB_FETCH, HTTP_FETCH}:
        return None
    if declared is None and context.exploration and _provider(context) == OFFLINE:
        return None  # it would open none, and a client takes time to load
    by_anthropic = (
        WEB_FETCH in declared if declared is not None else _trusts_anthropic(context, has_research)
    )
    if tools.fetch and by_anthropic:
        depth = context.exploration.depth_limits if context.exploration else None
        return web_fetch(
            tools.fetch,
            depth.pages if depth else 1,
            scope_of(context),
            dynamic_filtering=settings.dynamic_filtering and tools.filters,
            max_tokens=settings.page_tokens,
        )
    from idea_explorer.agent.toolset import Tool
    from idea_explorer.tools.pages import PageCalls

    calls = PageCalls(PublicPages(), document_reader(), rules)
    return Tool.of(calls.http_fetch)


def _trusts_anthropic(context: ToolsetContext, has_research: bool) -> bool:
    """Whether web_fetch keeps to our rules for a run. It opens what user messages and search results name,
    also after private text was read, when a choice among many addresses could spell that text. So there
    must be no private text, or somebody must have said that found pages stay open, or on which domains.
    A run with branches writes from documents that have no address to cite, so no page of it is cited."""
    if context.exploration is None or context.exploration.has_branches:
        return False
    request, branch = context.exploration.request, context.exploration.branch_of
    asked_in_private = branch is not None and branch.private
    has_private_text = has_research or asked_in_private or request.continue_from is not None
    if not has_private_text:
        return True
    is_open = request.allow_fetch_after_private or bool(scope_of(context).allowed_domains)
    return is_open and context.settings.search_with_private_text


def _declared(context: ToolsetContext) -> set[str] | None:
    """The names of the tools that a run began with; None where it has not begun."""
    opening = context.entries[0] if context.entries else None
    return {str(t.get("name")) for t in opening.tools} if isinstance(opening, Opening) else None
