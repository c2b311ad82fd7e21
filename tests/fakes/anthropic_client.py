"""The real SDK pointed at the fake: what tests of the fake, and of adapters, talk through."""

from __future__ import annotations

import functools
from typing import Any

import anthropic
from anthropic.types import Message

from tests.fakes.anthropic_wire import JsonObject

QUICK_TIMEOUT_SECONDS = 0.5  # for answers that must not come


@functools.cache
def _shared_client() -> anthropic.Anthropic:
    """One connection pool for all tests: making one costs more than the call."""
    return anthropic.Anthropic(base_url="http://127.0.0.1", api_key="none", max_retries=0)


def client_for(url: str, *, timeout: float = 10.0, key: str = "test-key") -> anthropic.Anthropic:
    return _shared_client().with_options(base_url=url, api_key=key, timeout=timeout)


def request_with(*messages: JsonObject, **fields: Any) -> JsonObject:
    """A valid request, but for what the caller changes."""
    asked = messages or ({"role": "user", "content": "Is there a market for urban bees?"},)
    return {"model": "claude-sonnet-5-5", "max_tokens": 1000, "messages": list(asked), **fields}


def ask(url: str, request: JsonObject, *, timeout: float = 10.0, key: str = "test-key") -> Message:
    """The answer as one JSON body."""
    message: Message = client_for(url, timeout=timeout, key=key).messages.create(**request)
    return message


def ask_streaming(url: str, request: JsonObject, *, timeout: float = 10.0) -> Message:
    """The answer put together from a stream."""
    with client_for(url, timeout=timeout).messages.stream(**request) as stream:
        return stream.get_final_message()


def said(message: Message) -> JsonObject:
    """An answer as the next request carries it."""
    content = [block.model_dump(mode="json", exclude_unset=True) for block in message.content]
    return {"role": "assistant", "content": content}
