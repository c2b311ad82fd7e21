"""The API's rules for web tools and for what can be cited, from Anthropic's documentation of both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from tests.fakes.anthropic_wire import Block, JsonObject, content_blocks

WEB_TOOLS = ("web_search_", "web_fetch_")
MIXED = (
    "Citations must be either enabled or disabled on all `{}` blocks. A mixture of enabling and "
    "disabling is not supported."
)
# Models that cannot call tools from code; the newer versions of web tools have to be called directly.
WITHOUT_CODE = ("claude-haiku-4-5", "claude-opus-4-5", "claude-sonnet-4-5")
BASIC = ("web_search_20250305", "web_fetch_20250910")
MAX_URL = 250
ADDRESS = re.compile(r"https?://[^\s\"'<>()\\\]]+")


def web_tools_are_well_defined(request: JsonObject) -> Iterator[str]:
    tools = request.get("tools") or []
    names = {tool.get("name") for tool in tools}
    for index, tool in enumerate(tools):
        kind = str(tool.get("type"))
        if not kind.startswith(WEB_TOOLS):
            continue
        if tool.get("allowed_domains") and tool.get("blocked_domains"):
            yield (
                f"tools.{index}: Cannot specify both allowed_domains and blocked_domains. Use one."
            )
        for domain in [*(tool.get("allowed_domains") or ()), *(tool.get("blocked_domains") or ())]:
            host = domain.partition("/")[0]
            if "://" in domain or "*" in host or "." not in host:
                yield f"tools.{index}: {domain!r} is not a valid domain"
        if "user_location" in tool and len(tool["user_location"]) < 2:
            yield f"tools.{index}.user_location: at least one field is required"
        if isinstance(tool.get("max_uses"), int) and tool["max_uses"] < 1:
            yield f"tools.{index}.max_uses: Input should be greater than 0"
        direct = "direct" in (tool.get("allowed_callers") or (["direct"] if kind in BASIC else []))
        if not direct and request["model"].startswith(WITHOUT_CODE):
            yield (
                f"tools.{index}: this model does not support programmatic tool calling. Set "
                'allowed_callers to ["direct"].'
            )
        yield from _sources(index, tool, names)


def _sources(index: int, tool: Block, names: set[str | None]) -> Iterator[str]:
    for source, variant in (tool.get("url_sources") or {}).items():
        for reference in variant.get("tools") or ():
            if reference["name"] not in names:
                yield f"tools.{index}.url_sources.{source}: {reference['name']!r} is not declared"


def results_are_citable(request: JsonObject) -> Iterator[str]:
    """All or none, for search results and for documents; pages of web_fetch are documents."""
    results: list[Block] = []
    documents: list[Block] = []
    for index, message in enumerate(request["messages"]):
        for position, block in enumerate(content_blocks(message)):
            inner = block.get("content") if block["type"] == "tool_result" else None
            inner = inner if isinstance(inner, list) else []
            kinds = {part["type"] for part in inner}
            if "search_result" in kinds and len(kinds) > 1:
                yield (
                    f"messages.{index}.content.{position}.tool_result.content: when one block is a "
                    "`search_result`, all blocks must be of that type"
                )
            for part in (block, *inner):
                if part["type"] == "search_result":
                    results.append(part)
                    yield from _texts(f"messages.{index}.content.{position}", part)
                if part["type"] == "document":
                    documents.append(part)
            if block["type"] == "web_fetch_tool_result" and "content" in block["content"]:
                documents.append(block["content"]["content"])
    for kind, blocks in (("search_result", results), ("document", documents)):
        if len({_is_cited(block) for block in blocks}) > 1:
            yield MIXED.format(kind)
    searches = any(str(t.get("type")).startswith("web_search_") for t in request.get("tools") or ())
    if searches and not all(_is_cited(block) for block in results):
        yield "Citations must be enabled on `search_result` blocks when web search is enabled."
    yield from _citations_exist(request, results)


def _texts(place: str, result: Block) -> Iterator[str]:
    if not result["content"]:
        yield f"{place}.search_result.content: at least one text block is required"
    for text in result["content"]:
        if not text.get("text", "").strip():
            yield f"{place}.search_result.content: text content blocks must be non-empty"


def _citations_exist(request: JsonObject, results: list[Block]) -> Iterator[str]:
    """A citation that comes back must be of what is there, word for word."""
    for index, message in enumerate(request["messages"]):
        for block in content_blocks(message):
            for cited in block.get("citations") or () if block["type"] == "text" else ():
                if cited["type"] != "search_result_location":
                    continue
                number = cited["search_result_index"]
                if number >= len(results):
                    yield f"messages.{index}: there is no search result {number}"
                    continue
                texts = [text["text"] for text in results[number]["content"]]
                meant = texts[cited["start_block_index"] : cited["end_block_index"]]
                if cited["cited_text"] != "".join(meant) or not meant:
                    yield f"messages.{index}: `cited_text` is not the text of the cited blocks"


def _is_cited(block: Block) -> bool:
    return bool((block.get("citations") or {}).get("enabled"))


def with_fetch_rules(request: JsonObject, blocks: Sequence[Block]) -> list[Block]:
    """The blocks of an answer, in which web_fetch has opened only what it opens: addresses that stood in
    the conversation before, on the domains that it may reach, as often as it may."""
    tools = [t for t in request.get("tools") or () if str(t.get("type")).startswith("web_fetch_")]
    tool: Block = tools[0] if tools else {}
    known = _known_addresses(request, tool.get("url_sources") or {})
    fetched: dict[str, str] = {}
    uses = 0
    kept: list[Block] = []
    for block in blocks:
        if block["type"] == "server_tool_use" and block["name"] == "web_fetch":
            fetched[block["id"]] = block["input"]["url"]
        if block["type"] == "web_fetch_tool_result" and block["tool_use_id"] in fetched:
            uses += 1
            url = fetched[block["tool_use_id"]]
            if code := _refusal(url, tool, known, uses):
                failed = {"type": "web_fetch_tool_result_error", "error_code": code}
                block = {**block, "content": failed}
        known |= _addresses_in(block) if block["type"] in ANSWERED else set()
        kept.append(block)
    return kept


ANSWERED = ("web_search_tool_result", "web_fetch_tool_result")


def _refusal(url: str, tool: Block, known: set[str], uses: int) -> str | None:
    host = urlsplit(url).hostname or ""
    allowed, blocked = tool.get("allowed_domains") or (), tool.get("blocked_domains") or ()
    if uses > tool.get("max_uses", uses):
        return "max_uses_exceeded"
    if len(url) > MAX_URL:
        return "url_too_long"
    if url not in known:
        return "url_not_in_prior_context"
    if (allowed and not _within(host, allowed)) or _within(host, blocked):
        return "url_not_allowed"
    return None


def _within(host: str, domains: Sequence[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _known_addresses(request: JsonObject, sources: JsonObject) -> set[str]:
    counts = {name: variant["type"] == "all" for name, variant in sources.items()}
    known: set[str] = set()
    for message in request["messages"]:
        for block in content_blocks(message):
            if block["type"] in ANSWERED:
                source = "server_tool_results"
            elif message["role"] == "user":
                is_result = block["type"] == "tool_result"
                source = "client_tool_results" if is_result else "user_input"
            else:
                continue
            known |= _addresses_in(block) if counts.get(source, True) else set()
    return known


def _addresses_in(block: Block) -> set[str]:
    found = ADDRESS.findall(json.dumps(block.get("content") or block, ensure_ascii=False))
    return {address.rstrip(".,;") for address in found} | set(found)
