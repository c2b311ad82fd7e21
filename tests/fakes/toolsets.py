"""Every toolset of the product, with the world outside in memory or in a folder."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.agent.toolset import Arguments, Tool, Toolset
from idea_explorer.domain import toolsets as specs
from idea_explorer.domain.plan import count_questions
from idea_explorer.domain.tools import ToolResult
from idea_explorer.ports import WebPage
from idea_explorer.settings import Settings
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.assistant import assistant_tools
from idea_explorer.tools.pages import PageCalls
from idea_explorer.tools.plan import plan_tool
from idea_explorer.tools.research import research_tools
from idea_explorer.wiring.toolsets import toolset
from tests.fakes.fetching import Files


class OnePage:
    """A web that has the same page at every address."""

    def fetch(self, url: str, may_redirect_to: object = None) -> WebPage:
        body = b"<title>Permits</title><p>A permit costs 120 a year."
        return WebPage(url, 200, "text/html", "utf-8", body)


def _assistant(_: Path) -> Toolset:
    return assistant_tools(
        OnePage(),
        Files(notes__md=b"API endpoints: GET /orders"),
        DIRECT_VERSION,
        None,
        documents=ChildProcessReader(),
    )


def _research(folder: Path) -> Toolset:
    pages = Tool.of(PageCalls(OnePage(), ChildProcessReader()).http_fetch)
    plan = plan_tool(most=count_questions(None), is_reviewed=False)
    return research_tools(Folder(folder), DIRECT_VERSION, reads_pages=pages, plan=plan)


def _wired(name: str) -> Callable[[Path], Toolset]:
    return lambda folder: toolset(Settings(research_dir=folder), name)


# Whatever reaches out is replaced; everything else is what a person gets.
TOOLSETS: dict[str, Callable[[Path], Toolset]] = {
    **{name: _wired(name) for name in specs.TOOLSETS},
    "assistant": _assistant,
    "research": _research,
}


def toolset_in(folder: Path, name: str) -> Toolset:
    (folder / "ideas" / "market").mkdir(parents=True, exist_ok=True)
    (folder / "ideas" / "market" / "2024-06.md").write_text("# June\n\nSubscription retention.")
    return TOOLSETS[name](folder)


def counted(toolset: Toolset) -> tuple[Toolset, list[str]]:
    """The toolset, and the names of its tools as they are executed. Nobody is asked for an approval."""
    executed: list[str] = []

    def counting(tool: Tool[Any]) -> Tool[Any]:
        def run(arguments: Arguments) -> ToolResult:
            executed.append(tool.name)
            return replace(tool.run(arguments), proposal=None)

        return replace(tool, run=run)

    tools = [counting(tool) for tool in toolset.tools.values()]
    return Toolset(tools, list(toolset.server_tools.values())), executed
