"""Claude, through the anthropic SDK: one streamed call, mapped to our types and errors.

The SDK's own retries are off: it sleeps as long as a server says and knows no deadline. A stream may be
silent but for pings for minutes; the deadline, a cancel or a dead connection ends it, nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2

from idea_explorer.adapters.claude_reader import StreamReader, WholeMessage
from idea_explorer.adapters.claude_stream import Assembly
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
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher

SILENCE_SECONDS = 90.0  # without a byte: pings come every 15 to 30 s, so the connection is dead
CONNECT_TIMEOUT_SECONDS = 10.0
# An answer that has begun says what it cost so far; one that has not counts as all it may cost.
GRACE_SECONDS = 3.0
TOO_LONG = ("prompt is too long", "exceed context limit")  # how a 400 says so
CACHE: Block = {"type": "ephemeral"}
EFFORT_CHANGES = "mid-conversation-output-config-2026-07-01"  # the beta that takes them


class Claude:
    def __init__(
        self,
        client: anthropic.Anthropic,
        *,
        grace_seconds: float = GRACE_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        self._client = client
        self._grace_seconds = grace_seconds
        self._silence_seconds = silence_seconds

    @classmethod
    def with_key(cls, api_key: str, base_url: str | None = None, **limits: float) -> "Claude":
        """Anthropic's own API."""
        client = anthropic.Anthropic(
            api_key=api_key, base_url=base_url, max_retries=0, open_telemetry=False
        )
        return cls(client, **limits)

    @classmethod
    def on_aws(
        cls, workspace_id: str, region: str, base_url: str | None = None, **limits: float
    ) -> "Claude":
        """Claude Platform on AWS, signed with the role or profile that this process has."""
        client = anthropic.AnthropicAWS(
            workspace_id=workspace_id,
            aws_region=region,
            base_url=base_url,
            max_retries=0,
            open_telemetry=False,
        )
        return cls(client, **limits)

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        """Stream one answer. Cut streams and error events raise; a half answer is never returned."""
        left = max(deadline.left, 0.1)
        timeout = httpx2.Timeout(
            min(self._silence_seconds, left), connect=min(CONNECT_TIMEOUT_SECONDS, left)
        )
        assembly = Assembly(watcher)

        def connect() -> anthropic.Stream[Any]:
            stream: anthropic.Stream[Any] = self._client.messages.create(
                **_parameters(request), stream=True, timeout=timeout
            )
            return stream

        reader = StreamReader(connect, watcher.tick, grace_seconds=self._grace_seconds)
        with _our_errors(), reader as events:
            for event in events:
                if isinstance(event, WholeMessage):
                    assembly.take_whole(event.message)
                else:
                    assembly.take(event.model_dump(mode="json", exclude_unset=True))
                # what an event tells is counted before the clock can break the answer off; an answer
                # that is whole is paid for and kept
                if not assembly.whole:
                    watcher.tick()
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
    if request.thinking is not None:
        parameters["thinking"] = request.thinking
    if request.effort is not None:
        parameters["output_config"] = {"effort": request.effort}
    if any("output_config" in message for message in request.messages):
        parameters["extra_headers"] = {"anthropic-beta": EFFORT_CHANGES}
    return parameters


def _cached(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with a cache breakpoint on the last: all up to it is read from the cache next time."""
    return [*blocks[:-1], {**blocks[-1], "cache_control": CACHE}] if blocks else []


def _cached_messages(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Breakpoints on the last turns of ours and on a turn that was paused after them.

    A look-up goes back no more than 20 blocks from a breakpoint. The breakpoint before the last is where
    the request before this one had its own, so that it is found however many blocks came between.
    """
    ours = [index for index, message in enumerate(messages) if message["role"] == "user"]
    marked = set(ours[-2:])
    if messages[-1]["role"] == "assistant":
        marked.add(len(messages) - 1)
    return [_marked(m) if index in marked else m for index, m in enumerate(messages)]


def _marked(message: JsonObject) -> JsonObject:
    """The message with a breakpoint on its last block, where that can bear one: thinking cannot."""
    content = message["content"]
    assert isinstance(content, list)
    blocks = [block for block in content if isinstance(block, dict)]
    last = blocks[-1].get("type") if blocks else "thinking"
    if last in {"thinking", "redacted_thinking"}:
        return message
    return {**message, "content": [*_cached(blocks)]}


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
    try:
        return float(headers.get("retry-after", ""))
    except ValueError:
        return None
