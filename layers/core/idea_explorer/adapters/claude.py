"""Claude, through the anthropic SDK: one streamed call, mapped to our types and errors.

The SDK's own retries are off: it sleeps as long as a server says and knows no deadline. Reads time
out after 20 seconds without a byte, or when the deadline comes, whichever is sooner.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import anthropic
import httpx2

from idea_explorer.adapters.awaiting import awaited
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import (
    ExternalError,
    ModelRefusesError,
    NetworkError,
    RateLimitedError,
    RejectedError,
    TooLongError,
    UnavailableError,
    UnreachableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.retry_after import retry_after
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher

READ_TIMEOUT_SECONDS = 20.0
CONNECT_TIMEOUT_SECONDS = 10.0
# An answer that has begun says what it cost so far; one that has not counts as all it may cost.
GRACE_SECONDS = 3.0
TOO_LONG = ("prompt is too long", "exceed context limit")  # how a 400 says so
CACHE: Block = {"type": "ephemeral"}


class Claude:
    def __init__(
        self, api_key: str, base_url: str | None = None, *, grace_seconds: float = GRACE_SECONDS
    ) -> None:
        self._grace_seconds = grace_seconds
        self._client = anthropic.Anthropic(
            api_key=api_key, base_url=base_url, max_retries=0, open_telemetry=False
        )

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        """Stream one answer. Cut streams and error events raise; a half answer is never returned."""
        left = max(deadline.left, 0.1)
        timeout = httpx2.Timeout(
            min(READ_TIMEOUT_SECONDS, left), connect=min(CONNECT_TIMEOUT_SECONDS, left)
        )
        assembly = _Assembly(watcher)
        with _our_errors():
            begun = awaited(
                lambda: self._client.messages.create(
                    **_parameters(request), stream=True, timeout=timeout
                ),
                watcher.tick,
                grace_seconds=self._grace_seconds,
                discard=lambda late: late.close(),
            )
            with begun as stream:
                if "json" in stream.response.headers.get("content-type", ""):
                    # some gateways answer a streaming request with the whole message
                    assembly.take_whole(json.loads(stream.response.read()))
                else:
                    for event in stream:
                        assembly.take(event.model_dump(mode="json", exclude_unset=True))
        return assembly.answer()


def _parameters(request: ModelRequest) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "model": request.model_id,
        "max_tokens": request.max_tokens,
        "system": _cached(request.system),
        "messages": _cached_messages(request.messages),
    }
    if request.tools:
        parameters["tools"] = list(request.tools)
        parameters["tool_choice"] = {"type": "none" if request.tools_off else "auto"}
    return parameters


def _cached(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with a cache breakpoint on the last: all up to it is read from the cache next time."""
    return [*blocks[:-1], {**blocks[-1], "cache_control": CACHE}] if blocks else []


def _cached_messages(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """A breakpoint on the last words of ours. A paused turn after them goes back untouched."""
    last = max(index for index, message in enumerate(messages) if message["role"] == "user")
    content = messages[last]["content"]
    assert isinstance(content, list)
    blocks = [block for block in content if isinstance(block, dict)]
    cached: JsonObject = {"role": "user", "content": [*_cached(blocks)]}
    return [*messages[:last], cached, *messages[last + 1 :]]


class _Assembly:
    """Puts an answer together from stream events, as native content blocks."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._blocks: list[Block] = []
        self._partial_json: dict[int, list[str]] = {}
        self._usage: dict[str, Any] = {}
        self._stop_reason: str | None = None
        self._stop_detail = ""
        self._whole = False

    def take(self, event: dict[str, Any]) -> None:
        """What an event tells is counted before the clock can break the answer off; one that is whole
        is paid for and kept."""
        self._read(event)
        if not self._whole:
            self._watcher.tick()

    def _read(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "message_start":
                self._count(event["message"].get("usage") or {})
            case "content_block_start":
                self._blocks.append(event["content_block"])
            case "content_block_delta":
                self._extend(event["index"], event["delta"])
            case "content_block_stop":
                self._close(event["index"])
            case "message_delta":
                self._stop_reason = event["delta"].get("stop_reason")
                self._stop_detail = _explanation(event["delta"])
                self._count(event.get("usage") or {})
            case "message_stop":
                self._whole = True
            case _:
                pass

    def take_whole(self, message: dict[str, Any]) -> None:
        if not isinstance(message.get("content"), list):
            raise UnavailableError("Claude's answer could not be read.", hint="Try again.")
        self._count(message.get("usage") or {})
        for block in message["content"]:
            self._blocks.append(block)
            if block.get("type") == "text":
                self._watcher.text(block.get("text") or "")
            self._watcher.block(block)
        self._stop_reason = message.get("stop_reason")
        self._stop_detail = _explanation(message)
        self._whole = True

    def answer(self) -> ModelAnswer:
        if not self._whole or self._stop_reason is None:
            raise NetworkError("Claude's answer broke off.", hint="Try again.")
        return ModelAnswer(
            content=self._blocks,
            stop_reason=self._stop_reason,
            usage=_usage(self._usage),
            stop_detail=self._stop_detail,
        )

    def _extend(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks[index]
        match delta["type"]:
            case "text_delta":
                block["text"] = f"{block.get('text') or ''}{delta['text']}"
                self._watcher.text(delta["text"])
            case "input_json_delta":
                self._partial_json.setdefault(index, []).append(delta["partial_json"])
            case "citations_delta":
                cited = block.get("citations")
                block["citations"] = [
                    *(cited if isinstance(cited, list) else []),
                    delta["citation"],
                ]
            case "thinking_delta":
                block["thinking"] = f"{block.get('thinking') or ''}{delta['thinking']}"
            case "signature_delta":
                block["signature"] = delta["signature"]
            case _:
                pass

    def _close(self, index: int) -> None:
        block = self._blocks[index]
        if partial := "".join(self._partial_json.pop(index, [])):
            try:
                given = json.loads(partial)
            except (ValueError, RecursionError):
                # cut off by the output limit, or malformed: validation answers it, nothing runs
                given = {}
            block["input"] = given if isinstance(given, dict) else {}
        self._watcher.block(block)

    def _count(self, usage: dict[str, Any]) -> None:
        """The counts of message_delta are cumulative; a later number replaces an earlier one."""
        self._usage.update({name: value for name, value in usage.items() if value is not None})
        self._watcher.usage(_usage(self._usage))


def _usage(counts: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=counts.get("input_tokens") or 0,
        output_tokens=counts.get("output_tokens") or 0,
        cache_write_tokens=counts.get("cache_creation_input_tokens") or 0,
        cache_read_tokens=counts.get("cache_read_input_tokens") or 0,
        searches=(counts.get("server_tool_use") or {}).get("web_search_requests") or 0,
    )


def _explanation(holder: dict[str, Any]) -> str:
    details = holder.get("stop_details") or {}
    return str(details.get("explanation") or details.get("category") or "")


@contextmanager
def _our_errors() -> Iterator[None]:
    """The SDK's errors as ours. Order matters: the SDK's timeout is also a connection error."""
    try:
        yield
    except anthropic.APITimeoutError as error:
        raise UpstreamTimeoutError("Claude did not answer in time.", hint="Try again.") from error
    except anthropic.APIConnectionError as error:
        if isinstance(error.__cause__, httpx2.ConnectError):
            raise UnreachableError(
                "Claude's API could not be reached.",
                hint="Check the network and ANTHROPIC_BASE_URL.",
            ) from error
        raise NetworkError("The connection to Claude broke off.", hint="Try again.") from error
    except anthropic.APIStatusError as error:
        raise _status_error(error) from error
    except anthropic.APIError as error:
        # an error event within a stream that began well
        raise UnavailableError(f"Claude's answer broke off: {error.message}") from error
    except httpx2.TimeoutException as error:
        raise UpstreamTimeoutError("Claude stopped answering.", hint="Try again.") from error
    except httpx2.HTTPError as error:
        raise NetworkError("The connection to Claude broke off.", hint="Try again.") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise UnavailableError("Claude's answer could not be read.", hint="Try again.") from error


def _status_error(error: anthropic.APIStatusError) -> ExternalError:
    status = error.status_code
    kind, said = _body(error)
    if status == 429 or kind == "rate_limit_error":
        return RateLimitedError(
            "Claude's rate limit was reached.",
            hint="Wait a little and resume, or ask Anthropic for a higher limit.",
            retry_after=_retry_after(error.response.headers),
        )
    if status == 401 or kind == "authentication_error":
        return ModelRefusesError(
            "Claude refused the API key (401).", hint="Check ANTHROPIC_API_KEY."
        )
    if status in {402, 403} or kind in {"permission_error", "billing_error"}:
        return ModelRefusesError(
            f"Claude refused the request ({status}): {said}",
            hint="Check the key's permissions and billing.",
        )
    if status == 529 or kind == "overloaded_error":
        return UnavailableError("Claude is overloaded (529).", hint="Try again in a few minutes.")
    if status >= 500 or status == 408 or kind == "api_error":
        return UnavailableError(
            f"Claude's API failed ({status}).", hint="Try again in a few minutes."
        )
    if status == 413 or any(words in said for words in TOO_LONG):
        return TooLongError(
            f"The conversation is too large for Claude ({status}).",
            hint="Use a shorter context or fewer files.",
        )
    return RejectedError(f"Claude rejected the request ({status}): {said}")


def _body(error: anthropic.APIStatusError) -> tuple[str, str]:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    fields = inner if isinstance(inner, dict) else {}
    return str(fields.get("type") or ""), str(fields.get("message") or "no reason given")[:300]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    return retry_after(headers, datetime.now(UTC))
