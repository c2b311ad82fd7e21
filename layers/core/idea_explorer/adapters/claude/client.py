"""Claude, through the anthropic SDK: one streamed call, mapped to our types and errors.

The SDK's own retries are off: it sleeps as long as a server says and knows no deadline. A stream may be
silent but for pings for minutes; the deadline, a cancel or a dead connection ends it, nothing else.
"""

from collections.abc import Sequence
from typing import Any

import anthropic
import httpx2

from idea_explorer.adapters.claude.errors import ANTHROPIC, AWS, Account, our_errors
from idea_explorer.adapters.claude.reader import StreamReader, WholeMessage
from idea_explorer.adapters.claude.stream import Assembly
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import ConfigurationError, ErrorCode, name_system
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher

SILENCE_SECONDS = 90.0  # without a byte: pings come every 15 to 30 s, so the connection is dead
CONNECT_TIMEOUT_SECONDS = 10.0
SYSTEM: ErrorCode = "AI_SERVICE_UNAVAILABLE"
# An answer that has begun says what it cost so far; one that has not counts as all it may cost.
GRACE_SECONDS = 0.5
CACHE: Block = {"type": "ephemeral"}
EFFORT_CHANGES = "mid-conversation-output-config-2026-07-01"  # the beta that takes them


class Claude:
    def __init__(
        self,
        client: anthropic.Anthropic,
        account: Account,
        *,
        grace_seconds: float = GRACE_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        self._client = client
        self._account = account
        self._grace_seconds = grace_seconds
        self._silence_seconds = silence_seconds

    @classmethod
    def with_key(cls, api_key: str, base_url: str | None = None, **limits: float) -> "Claude":
        """Anthropic's own API."""
        client = anthropic.Anthropic(
            api_key=api_key, base_url=base_url, max_retries=0, open_telemetry=False
        )
        return cls(client, ANTHROPIC, **limits)

    @classmethod
    def on_aws(
        cls, workspace_id: str, region: str, base_url: str | None = None, **limits: float
    ) -> "Claude":
        """Claude Platform on AWS, signed with the role or the profile of this process."""
        import boto3

        if boto3.Session().get_credentials() is None:
            raise ConfigurationError(
                "There are no AWS credentials to sign requests to Claude with.",
                hint="Set AWS_PROFILE or AWS_ACCESS_KEY_ID, or another IDEA_MODEL_PROVIDER.",
            )
        client = anthropic.AnthropicAWS(
            workspace_id=workspace_id,
            aws_region=region,
            base_url=base_url,
            max_retries=0,
            open_telemetry=False,
        )
        return cls(client, AWS, **limits)

    def check(self, seconds: float) -> None:
        """Raises ExternalError where the account is not let in; costs nothing."""
        with name_system(SYSTEM), our_errors(self._account):
            self._client.models.list(limit=1, timeout=seconds)

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        """Stream one answer. Cut streams and error events raise; a half answer is never returned."""
        left = max(deadline.left, 0.1)
        # the deadline is watched beside the stream; a timeout for it would be taken for a failure
        timeout = httpx2.Timeout(self._silence_seconds, connect=min(CONNECT_TIMEOUT_SECONDS, left))
        assembly = Assembly(watcher)

        def connect() -> anthropic.Stream[Any]:
            stream: anthropic.Stream[Any] = self._client.messages.create(
                **_parameters(request), stream=True, timeout=timeout
            )
            return stream

        reader = StreamReader(connect, watcher.tick, grace_seconds=self._grace_seconds)
        with name_system(SYSTEM), our_errors(self._account), reader as events:
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
