"""Claude as fast as it can be: `python -m tests.performance.fast_model` says its port and answers at once.

It looks two things up in the research, and then writes a report that lacks nothing.
"""

import asyncio
import json

from tests.fakes.reports import business
from tests.performance.peers.script import Answer, render_stream
from tests.performance.peers.server import EVENT_STREAM, render, serve

USAGE = {"input_tokens": 3_000, "output_tokens": 400}
CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("search_research", {"query": "beekeepers"}),
    ("list_research", {}),
)


def _answers() -> list[Answer]:
    calls = [
        {"type": "tool_use", "id": f"toolu_01fast{number:016d}", "name": name, "input": given}
        for number, (name, given) in enumerate(CALLS)
    ]
    text = {"type": "text", "text": "I will look at what is known."}
    report = {"type": "text", "text": business("Urban bees", verdict="PIVOT")}
    return [([text, *calls], "tool_use", USAGE), ([report], "end_turn", USAGE)]


RESPONSES = [
    render("200 OK", render_stream(number, answer), EVENT_STREAM, chunked=True)
    for number, answer in enumerate(_answers(), start=1)
]
UNKNOWN = render("404 Not Found", json.dumps({"error": {"type": "not_found_error"}}))


def respond(method: str, path: str, body: bytes) -> tuple[bytes, float]:
    if path != "/v1/messages":
        return UNKNOWN, 0.0
    begun = b'"tool_result"' in body
    return RESPONSES[begun], 0.0


if __name__ == "__main__":
    asyncio.run(serve(respond))
