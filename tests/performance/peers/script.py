"""The exploration that every peer does: five answers of the model and the files of a repository.

Two scenarios: in `common` the model calls a tool in each of four answers, once with an argument that is not
valid, and then writes its report; in `pause` the third answer pauses in the middle of a web search instead.
"""

import base64
import hashlib
import json
from typing import Any

MODEL = "claude-sonnet-4-5"
READS = {"common": 4, "pause": 3}  # files that are read in one exploration
ANSWERS = 5
WORDS = (
    "The committee reviewed the evidence on soil moisture, canopy density and seasonal variance;"
    ' "confidence" remains moderate (n=42), see table 3 — café notes.\n'
)
TEXT_PART, JSON_PART = 24, 16  # characters of one delta, about as the API sends them

Block = dict[str, Any]
Answer = tuple[list[Block], str, Block]


def repeat_words(length: int, head: str) -> str:
    return ((head + WORDS) * (length // len(WORDS) + 1))[:length]


FILES = {  # the first two have about 12,000 tokens each
    "research/a.md": repeat_words(48_000, "# A "),
    "research/b.md": repeat_words(48_000, "# B "),
    "research/c.md": repeat_words(4_000, "# C "),
    "research/d.md": repeat_words(4_000, "# D "),
}
REPORT = repeat_words(6_144, "## Findings\n- ")


def _text(words: str) -> Block:
    return {"type": "text", "text": words}


def _read(number: int, given: Block) -> Block:
    return {
        "type": "tool_use",
        "id": f"toolu_01peer{number:018d}",
        "name": "read_research",
        "input": given,
    }


def _search(number: int, query: str) -> Block:
    return {
        "type": "server_tool_use",
        "id": f"srvtoolu_01peer{number:015d}",
        "name": "web_search",
        "input": {"query": query},
    }


def _found(number: int) -> Block:
    pages = [
        {
            "type": "web_search_result",
            "url": f"https://example.org/{number}/{page}",
            "title": f"Result {page}",
            "page_age": "April 30, 2025",
            "encrypted_content": base64.b64encode(
                repeat_words(450, f"{number}{page}").encode()
            ).decode(),
        }
        for page in range(3)
    ]
    use_id = f"srvtoolu_01peer{number:015d}"
    return {"type": "web_search_tool_result", "tool_use_id": use_id, "content": pages}


def _usage(tokens_in: int, tokens_out: int, searches: int = 0) -> Block:
    return {
        "input_tokens": tokens_in,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": tokens_out,
        "service_tier": "standard",
        **({"server_tool_use": {"web_search_requests": searches}} if searches else {}),
    }


def answers(scenario: str) -> list[Answer]:
    invalid = _read(5, {"file": 42})
    third: list[Answer] = (
        [
            (
                [_text("Searching once more."), _search(2, "soil moisture variance")],
                "pause_turn",
                _usage(30_500, 60, 1),
            ),
            ([_found(2), invalid], "tool_use", _usage(32_000, 90)),
        ]
        if scenario == "pause"
        else [
            (
                [_text("And the appendix."), _read(4, {"path": "research/d.md"})],
                "tool_use",
                _usage(30_500, 90),
            ),
            ([_text("Now the glossary."), invalid], "tool_use", _usage(32_000, 90)),
        ]
    )
    return [
        (
            [
                _text("I will read the two main files first."),
                _read(1, {"path": "research/a.md"}),
                _read(2, {"path": "research/b.md"}),
            ],
            "tool_use",
            _usage(3_200, 180),
        ),
        (
            [
                _text("Checking recent sources."),
                _search(1, "canopy density 2025"),
                _found(1),
                _text("One more file is needed."),
                _read(3, {"path": "research/c.md"}),
            ],
            "tool_use",
            _usage(28_000, 220, 1),
        ),
        *third,
        ([_text(REPORT)], "end_turn", _usage(32_300, 1_500)),
    ]


def render_message(number: int, answer: Answer) -> Block:
    content, stop_reason, usage = answer
    return {
        "id": f"msg_01peer{number:018d}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": stop_reason or None,
        "stop_sequence": None,
        "usage": usage,
    }


def render_stream(number: int, answer: Answer) -> str:
    """The same message as server-sent events."""
    content, stop_reason, usage = answer
    frames: list[str] = []

    def add(name: str, **data: Any) -> None:
        frames.append(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n")

    head = render_message(number, ([], "", {**usage, "output_tokens": 1}))
    add("message_start", message=head)
    for index, block in enumerate(content):
        start, deltas = _divide(block)
        add("content_block_start", index=index, content_block=start)
        for delta in deltas:
            add("content_block_delta", index=index, delta=delta)
        add("content_block_stop", index=index)
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    add("message_delta", delta=delta, usage=usage)
    add("message_stop")
    return "".join(frames)


def _divide(block: Block) -> tuple[Block, list[Block]]:
    """The start of a block, and its deltas."""
    match block["type"]:
        case "text":
            parts = _parts(block["text"], TEXT_PART)
            return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in parts]
        case "tool_use" | "server_tool_use":
            parts = _parts(json.dumps(block["input"]), JSON_PART)
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            return {**block, "input": {}}, deltas
        case _:
            return block, []


def _parts(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]


def render_file(path: str) -> Block:
    """A file as GitHub's contents API returns it."""
    content = FILES[path].encode()
    lines = _parts(base64.b64encode(content).decode(), 60)
    links = dict.fromkeys(("self", "git", "html"), "https://example.org")
    return {
        "type": "file",
        "encoding": "base64",
        "size": len(content),
        "name": path.rpartition("/")[2],
        "path": path,
        "content": "\n".join(lines) + "\n",
        "sha": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
        "url": links["self"],
        "html_url": links["html"],
        "git_url": links["git"],
        "download_url": "https://example.org",
        "_links": links,
    }
