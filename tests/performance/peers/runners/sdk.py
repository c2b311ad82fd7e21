"""A plain loop on anthropic's SDK, not streamed."""

from collections.abc import Callable
from typing import Any, TypeAlias

from tests.performance.peers.runners import protocol
from tests.performance.peers.runners.protocol import Explore, Explored

Ask: TypeAlias = Callable[[Any, list[dict[str, Any]]], Any]


def ask(client: Any, messages: list[dict[str, Any]]) -> Any:
    return client.messages.create(
        model=protocol.MODEL,
        max_tokens=protocol.MAX_TOKENS,
        system=protocol.SYSTEM,
        tools=protocol.TOOLS,
        messages=messages,
    )


def prepare(base: str, ask: Ask = ask) -> Explore:
    import base64

    import anthropic
    import httpx2

    client: Any = anthropic.Anthropic(api_key="k", base_url=base, max_retries=2)
    github = httpx2.Client(base_url=base, limits=httpx2.Limits(max_connections=100))

    def read(given: dict[str, Any]) -> tuple[str, bool]:
        path = given.get("path")
        if not isinstance(path, str):
            return protocol.INVALID_PATH, True
        response = github.get(protocol.CONTENTS + path)
        response.raise_for_status()
        return base64.b64decode(response.json()["content"]).decode(), False

    def explore(name: str) -> Explored:
        messages: list[dict[str, Any]] = [{"role": "user", "content": protocol.prompt(name)}]
        tokens_in = tokens_out = steps = 0
        text = ""
        while not text and steps < protocol.MAX_STEPS:
            steps += 1
            message = ask(client, messages)
            tokens_in += message.usage.input_tokens
            tokens_out += message.usage.output_tokens
            messages.append({"role": "assistant", "content": message.content})
            if message.stop_reason == "tool_use":
                results = []
                for block in message.content:
                    if block.type == "tool_use":
                        found, is_error = read(block.input)
                        results.append(
                            {
                                "type": "tool_result",
                                "tool_use_id": block.id,
                                "content": found,
                                "is_error": is_error,
                            }
                        )
                messages.append({"role": "user", "content": results})
            elif message.stop_reason != "pause_turn":
                text = "".join(block.text for block in message.content if block.type == "text")
        return Explored(text, tokens_in, tokens_out, steps)

    return explore


if __name__ == "__main__":
    protocol.run(prepare)
