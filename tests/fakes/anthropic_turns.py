"""What the fake model says: one `Turn` for each request, put together by small builders.

    answer(thinking("Hm."), text("Looking."), tool_use("read_research", {"path": "a.md"}))
    answer(web_search("bees", [search_result("https://a.example", "A")]), text("Done."))

Ids that are not given are assigned when the turn is answered, the same each time for the same
point of a conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.fakes.anthropic_faults import Fault
from tests.fakes.anthropic_wire import Block, JsonObject, digest

SIGNATURE_PREFIX = "signed-"
SERVER_RESULTS = ("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result")
TOKENS, SECONDS = "_tokens", "_seconds"  # of a block in a script; they are never sent


@dataclass(frozen=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    web_search_requests: int = 0
    web_fetch_requests: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
            self.web_search_requests + other.web_search_requests,
            self.web_fetch_requests + other.web_fetch_requests,
        )


@dataclass(frozen=True)
class Turn:
    """One answer. `delay` is before the first byte, `drip` between events, both in seconds."""

    blocks: tuple[Block, ...] = ()
    stop_reason: str = "end_turn"
    stop_details: JsonObject | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None  # None: counted from request and answer
    fault: Fault | None = None
    delay: float = 0.0
    drip: float = 0.0


def answer(
    *blocks: Block | tuple[Block, ...],
    stop_reason: str | None = None,
    stop_details: JsonObject | None = None,
    stop_sequence: str | None = None,
    usage: Usage | None = None,
    fault: Fault | None = None,
    delay: float = 0.0,
    drip: float = 0.0,
) -> Turn:
    """A turn; without a stop reason the one that the API would give for these blocks."""
    flat = tuple(
        block for given in blocks for block in ((given,) if isinstance(given, dict) else given)
    )
    return Turn(
        flat,
        _stop_reason_of(flat) if stop_reason is None else stop_reason,
        stop_details,
        stop_sequence,
        usage,
        fault,
        delay,
        drip,
    )


def _stop_reason_of(blocks: Sequence[Block]) -> str:
    types = [block["type"] for block in blocks]
    if "tool_use" in types:
        return "tool_use"
    # A finished call adds one call and one result, or the result alone that was still owed.
    pending = types.count("server_tool_use") > sum(kind in SERVER_RESULTS for kind in types)
    return "pause_turn" if pending else "end_turn"


def refusal(
    explanation: str = "This request was declined.",
    *,
    category: str | None = "cyber",
    said: Sequence[Block] = (),
    usage: Usage | None = None,
) -> Turn:
    """The safety system stops the answer, possibly after some of it was said."""
    details = {"type": "refusal", "category": category, "explanation": explanation}
    return Turn(tuple(said), "refusal", details, usage=usage)


def text(words: str, *, citations: Sequence[Block] = ()) -> Block:
    block: Block = {"type": "text", "text": words}
    if citations:
        block["citations"] = list(citations)
    return block


def citation(url: str, title: str | None, cited_text: str) -> Block:
    return {
        "type": "web_search_result_location",
        "url": url,
        "title": title,
        "cited_text": cited_text,
        "encrypted_index": f"index-{digest(url + cited_text)[:24]}",
    }


def result_citation(source: str, title: str, cited_text: str, *, result: int, block: int) -> Block:
    """A citation of one text block of a search result, which are numbered over the whole request."""
    return {
        "type": "search_result_location",
        "source": source,
        "title": title,
        "cited_text": cited_text,
        "search_result_index": result,
        "start_block_index": block,
        "end_block_index": block + 1,
    }


def page_citation(document: int, title: str | None, cited_text: str, *, start: int = 0) -> Block:
    """A citation of a document, such as a page that web_fetch has read."""
    return {
        "type": "char_location",
        "document_index": document,
        "document_title": title,
        "cited_text": cited_text,
        "start_char_index": start,
        "end_char_index": start + len(cited_text),
    }


def sign(thought: str) -> str:
    """The signature of a thought; it comes back with it and proves it unchanged."""
    return SIGNATURE_PREFIX + digest(thought)


def thinking(
    thought: str,
    *,
    signature: str | None = None,
    tokens: int | None = None,
    seconds: float = 0.0,
) -> Block:
    """A thought. It may take more tokens than its text, which may not even be shown, and it may take
    time, in which nothing but pings is sent."""
    signed = sign(thought) if signature is None else signature
    block: Block = {"type": "thinking", "thinking": thought, "signature": signed}
    if tokens is not None:
        block[TOKENS] = tokens
    if seconds:
        block[SECONDS] = seconds
    return block


def redacted_thinking(data: str) -> Block:
    return {"type": "redacted_thinking", "data": data}


def tool_use(name: str, arguments: JsonObject, *, call_id: str | None = None) -> Block:
    return _with_id({"type": "tool_use", "name": name, "input": arguments}, call_id)


def pending_web_search(query: str, *, call_id: str | None = None) -> Block:
    """A search that was started but not run: alone it pauses the turn."""
    block = {"type": "server_tool_use", "name": "web_search", "input": {"query": query}}
    return _with_id(block, call_id)


def web_search_result(results: Sequence[Block] = (), *, error: str | None = None) -> Block:
    """The result of the search before it, or of one pending since the last turn."""
    failed = {"type": "web_search_tool_result_error", "error_code": error}
    return {
        "type": "web_search_tool_result",
        "content": list(results) if error is None else failed,
    }


def web_search(
    query: str,
    results: Sequence[Block] = (),
    *,
    error: str | None = None,
    call_id: str | None = None,
) -> tuple[Block, Block]:
    """A search run by the API: the call and its result, or an error code instead of results."""
    call = pending_web_search(query, call_id=call_id)
    return call, web_search_result(results, error=error)


def search_result(url: str, title: str, *, page_age: str | None = None, size: int = 0) -> Block:
    """A page that was found. `size` makes its encrypted content as long as that of a page's text."""
    return {
        "type": "web_search_result",
        "url": url,
        "title": title,
        "page_age": page_age,
        "encrypted_content": f"content-{digest(url)[:24]}".ljust(size, "x"),
    }


def web_fetch(
    url: str,
    words: str = "",
    *,
    title: str | None = None,
    error: str | None = None,
    retrieved_at: str = "2026-11-17T09:30:00Z",
    call_id: str | None = None,
) -> tuple[Block, Block]:
    """A page that the API opens: the call and its result, or an error code instead of the page."""
    call: Block = {"type": "server_tool_use", "name": "web_fetch", "input": {"url": url}}
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": words},
        "title": title,
        "citations": {"enabled": True},
    }
    page = {
        "type": "web_fetch_result",
        "url": url,
        "content": document,
        "retrieved_at": retrieved_at,
    }
    failed = {"type": "web_fetch_tool_result_error", "error_code": error}
    result: Block = {"type": "web_fetch_tool_result", "content": page if error is None else failed}
    return _with_id(call, call_id), result


def filtered_search(
    query: str, results: Sequence[Block], printed: str, *, call_id: str
) -> tuple[Block, ...]:
    """A search from code, as dynamic filtering does it: only what the code prints reaches the model."""
    caller = {"type": "code_execution_20260120", "tool_id": call_id}
    code: Block = {
        "type": "server_tool_use",
        "name": "code_execution",
        "id": call_id,
        "input": {"code": f"print(keep(web_search({query!r})))"},
    }
    call, found = web_search(query, results, call_id=f"{call_id}_search")
    found = {**found, "tool_use_id": f"{call_id}_search"}
    ran = {
        "type": "code_execution_result",
        "stdout": printed,
        "stderr": "",
        "return_code": 0,
        "content": [],
    }
    ended: Block = {"type": "code_execution_tool_result", "tool_use_id": call_id, "content": ran}
    return code, {**call, "caller": caller}, {**found, "caller": caller}, ended


def _with_id(block: Block, call_id: str | None) -> Block:
    return block if call_id is None else {**block, "id": call_id}
