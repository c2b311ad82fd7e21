"""A plain loop on httpx, streamed, with the least that puts an answer together: the floor for Python."""

import json
from collections.abc import Iterable
from typing import Any

from tests.performance.peers.runners import protocol
from tests.performance.peers.runners.protocol import Explore, Explored

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}


def assemble(chunks: Iterable[bytes]) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    parts: dict[int, list[str]] = {}
    message: dict[str, Any] = {"content": content}
    unread = b""
    for chunk in chunks:
        *lines, unread = (unread + chunk).split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            event = json.loads(line[5:])
            match event["type"]:
                case "content_block_delta":
                    delta = event["delta"]
                    part = delta.get("text") or delta.get("partial_json") or ""
                    parts[event["index"]].append(part)
                case "content_block_start":
                    content.append(event["content_block"])
                    parts[event["index"]] = []
                case "content_block_stop":
                    block, whole = content[event["index"]], "".join(parts[event["index"]])
                    if block["type"] == "text":
                        block["text"] = whole
                    elif whole:
                        block["input"] = json.loads(whole)
                case "message_delta":
                    message |= {**event["delta"], "usage": event["usage"]}
    return message


def prepare(base: str) -> Explore:
    import base64

    import httpx

    limits = httpx.Limits(max_connections=100)
    client = httpx.Client(base_url=base, limits=limits, timeout=600, headers=HEADERS)
    github = httpx.Client(base_url=base, limits=limits)

    def read(given: dict[str, Any]) -> tuple[str, bool]:
        path = given.get("path")
        if not isinstance(path, str):
            return protocol.INVALID_PATH, True
        response = github.get(protocol.CONTENTS + path)
        response.raise_for_status()
        return base64.b64decode(response.json()["content"]).decode(), False

    def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
        body = {
            "model": protocol.MODEL,
            "max_tokens": protocol.MAX_TOKENS,
            "system": protocol.SYSTEM,
            "tools": protocol.TOOLS,
            "messages": messages,
            "stream": True,
        }
        with client.stream("POST", "/v1/messages", content=json.dumps(body)) as response:
            response.raise_for_status()
            return assemble(response.iter_raw())

    def explore(name: str) -> Explored:
        messages: list[dict[str, Any]] = [{"role": "user", "content": protocol.prompt(name)}]
        tokens_in = tokens_out = steps = 0
        text = ""
        while not text and steps < protocol.MAX_STEPS:
            steps += 1
            message = ask(messages)
            tokens_in += message["usage"]["input_tokens"]
            tokens_out += message["usage"]["output_tokens"]
            content = message["content"]
            messages.append({"role": "assistant", "content": content})
            if message["stop_reason"] == "tool_use":
                results = []
                for block in content:
                    if block["type"] == "tool_use":
                        found, is_error = read(block["input"])
                        results.append(
                            {
                                "type": "tool_result",
                                "tool_use_id": block["id"],
                                "content": found,
                                "is_error": is_error,
                            }
                        )
                messages.append({"role": "user", "content": results})
            elif message["stop_reason"] != "pause_turn":
                text = "".join(block["text"] for block in content if block["type"] == "text")
        return Explored(text, tokens_in, tokens_out, steps)

    return explore


if __name__ == "__main__":
    protocol.run(prepare)
