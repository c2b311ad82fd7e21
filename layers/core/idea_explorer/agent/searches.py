"""Web searches, which run at Anthropic and show up here in the answers only."""

from collections.abc import Sequence

from idea_explorer.domain.json import Block, text_of
from idea_explorer.domain.tools import ToolRecord

RESULT = "web_search_tool_result"


def search_record(block: Block, step: int) -> ToolRecord:
    """What is remembered of a search, from the block of its result. How long it took nobody knows."""
    found = block.get("content")
    ok = isinstance(found, list)
    code = text_of(found.get("error_code")) if isinstance(found, dict) else "unavailable"
    return ToolRecord(
        name="web_search", duration_ms=0, ok=ok, error_type=None if ok else code, step=step
    )


def searches_in(tools: Sequence[Block]) -> int:
    """How many searches one call may make at most."""
    uses = [tool.get("max_uses") for tool in tools if _searches(tool)]
    return sum(n for n in uses if isinstance(n, int))


def with_searches(tools: Sequence[Block], count: int) -> list[Block]:
    """The tools with so many searches a call."""
    return [{**tool, "max_uses": count} if _searches(tool) else tool for tool in tools]


def _searches(tool: Block) -> bool:
    return str(tool.get("type")).startswith("web_search")
