"""The same loop on anthropic's SDK, streamed as ours is: `messages.stream` and its final message."""

from typing import Any

from tests.performance.peers.runners import protocol, sdk


def ask(client: Any, messages: list[dict[str, Any]]) -> Any:
    with client.messages.stream(
        model=protocol.MODEL,
        max_tokens=protocol.MAX_TOKENS,
        system=protocol.SYSTEM,
        tools=protocol.TOOLS,
        messages=messages,
    ) as stream:
        return stream.get_final_message()


if __name__ == "__main__":
    protocol.run(lambda base: sdk.prepare(base, ask))
