"""What the API refuses with 400, worded as it words it.

Each rule yields the complaints it has about a request; the first complaint is the answer. The rules
about single fields come first, so that the later ones can trust the shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator

from tests.fakes.anthropic_contract import complaint_of_types
from tests.fakes.anthropic_models import (
    EFFORT_BETA,
    follows_the_model,
    system_messages_are_in_place,
)
from tests.fakes.anthropic_pairing import (
    ends_properly,
    roles_alternate,
    searches_are_finished,
    tool_calls_are_answered,
    turns_end_properly,
)
from tests.fakes.anthropic_thinking import BOUND, MODIFIED, thoughts_are_as_they_came
from tests.fakes.anthropic_turns import SIGNATURE_PREFIX, sign
from tests.fakes.anthropic_wire import (
    Block,
    JsonObject,
    content_blocks,
    system_blocks,
)

MAX_BREAKPOINTS = 4
SAMPLING_FIELDS = ("temperature", "top_p", "top_k")
BLOCK_FIELDS: dict[str, frozenset[str]] = {
    kind: frozenset(["type", *fields.split()])
    for kind, fields in {
        "text": "text cache_control citations",
        "thinking": "thinking signature",
        "redacted_thinking": "data",
        "tool_use": "id name input cache_control caller toolset_name",
        "tool_result": "tool_use_id content is_error cache_control toolset_name",
        "server_tool_use": "id name input cache_control caller",
        "web_search_tool_result": "tool_use_id content cache_control caller",
        "image": "source cache_control transformations",
        "document": "source cache_control citations context title",
        "search_result": "content source title cache_control citations",
    }.items()
}
REQUIRED_FIELDS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
    "server_tool_use": ("id", "name", "input"),
    "web_search_tool_result": ("tool_use_id", "content"),
}
ROLE_OF_BLOCK = {
    "tool_result": "user",
    "tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "server_tool_use": "assistant",
    "web_search_tool_result": "assistant",
}


def complaint_about(
    request: JsonObject, paused_calls: Container[str], betas: str = ""
) -> str | None:
    """The first thing wrong with the request. `paused_calls` are server tool calls of paused turns:
    only a turn that paused may be sent back as the last message."""
    for rule in RULES:
        for complaint in rule(request):
            return complaint
    badly_ended = next(ends_properly(request, paused_calls), None)
    return badly_ended or complaint_of_types(request, beta=EFFORT_BETA in betas)


def _fields(request: JsonObject) -> Iterator[str]:
    for name in ("model", "max_tokens", "messages"):
        if request.get(name) is None:
            yield f"{name}: Field required"
    for name in SAMPLING_FIELDS:
        if name in request:
            yield f"`{name}` is deprecated for this model."
    if not isinstance(request["model"], str) or not request["model"]:
        yield "model: Input should be a valid string"
    max_tokens = request["max_tokens"]
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 1:
        yield "max_tokens: must be greater than or equal to 1"
    if not isinstance(request["messages"], list) or not request["messages"]:
        yield "messages: at least one message is required"


def _messages(request: JsonObject) -> Iterator[str]:
    for index, message in enumerate(request["messages"]):
        if not isinstance(message, dict):
            yield f"messages.{index}: Input should be an object"
        if message.get("role") not in ("user", "assistant", "system"):
            yield f"messages.{index}: unexpected role {message.get('role')!r}"
        content = message.get("content")
        if message["role"] == "system" and message.get("output_config"):
            continue
        if not content or not isinstance(content, str | list):
            role = message["role"]
            yield f"messages.{index}: {role} messages must have non-empty content"


def _blocks(request: JsonObject) -> Iterator[str]:
    for index, message in enumerate(request["messages"]):
        for position, block in enumerate(content_blocks(message)):
            yield from _block(f"messages.{index}.content.{position}", message["role"], block)
    for position, block in enumerate(system_blocks(request)):
        yield from _block(f"system.{position}", "system", block)


def _block(path: str, role: str, block: object) -> Iterator[str]:
    if not isinstance(block, dict):
        yield f"{path}: Input should be an object"
        return
    kind = block.get("type", "")
    if kind not in BLOCK_FIELDS:
        yield f"{path}: Input tag {kind!r} does not match any of the expected tags"
    if ROLE_OF_BLOCK.get(kind, role) != role:
        yield f"{path}: `{kind}` blocks can only be in `{ROLE_OF_BLOCK[kind]}` messages"
    for extra in sorted(block.keys() - BLOCK_FIELDS[kind]):
        yield f"{path}.{kind}.{extra}: Extra inputs are not permitted"
    for name in REQUIRED_FIELDS.get(kind, ()):
        if block.get(name) is None:
            yield f"{path}.{kind}.{name}: Field required"
    if not isinstance(block.get("input", {}), dict):
        yield f"{path}.{kind}.input: Input should be an object"
    if kind == "text":
        yield from _text(role, block)
    if kind == "thinking":
        yield from _thought(path, block)
    if kind == "tool_result" and isinstance(block.get("content"), list):
        for position, inner in enumerate(block["content"]):
            yield from _block(f"{path}.content.{position}", role, inner)


def _text(role: str, block: Block) -> Iterator[str]:
    if not block["text"]:
        yield "messages: text content blocks must be non-empty"
    # A model puts white space between cited passages, and that must go back as it came.
    if role != "assistant" and not block["text"].strip():
        yield "messages: text content blocks must contain non-whitespace text"


def _thought(path: str, block: Block) -> Iterator[str]:
    """Signatures of the tests' own thoughts can be checked; others are taken as they are. Those of a
    conversation are checked by `thoughts_are_as_they_came`."""
    signature = block["signature"]
    plain = signature.startswith(SIGNATURE_PREFIX) and signature.count("-") < BOUND
    if plain and signature != sign(block["thinking"]):
        yield f"{path}: {MODIFIED}"


def _tools(request: JsonObject) -> Iterator[str]:
    tools = request.get("tools") or []
    choice = request.get("tool_choice")
    names = Counter(tool.get("name") for tool in tools)
    if choice is not None and not tools:
        yield "tool_choice: may only be specified while providing tools"
    if choice is not None and choice.get("type") not in ("auto", "any", "tool", "none"):
        yield f"tool_choice: Input tag {choice.get('type')!r} does not match the expected tags"
    if choice is not None and choice["type"] == "tool" and choice.get("name") not in names:
        yield f"tool_choice: tool {choice.get('name')!r} not found in provided tools"
    if any(count > 1 for count in names.values()):
        yield "tools: Tool names must be unique."
    for index, tool in enumerate(tools):
        if not tool.get("name"):
            yield f"tools.{index}.name: Field required"
        if tool.get("type", "custom") == "custom" and "input_schema" not in tool:
            yield f"tools.{index}.custom.input_schema: Field required"
    used = {"tool_use", "tool_result", "server_tool_use"}
    in_history = any(b["type"] in used for m in request["messages"] for b in content_blocks(m))
    if in_history and not tools:
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools."


def _breakpoints(request: JsonObject) -> Iterator[str]:
    places = [request, *(request.get("tools") or []), *system_blocks(request)]
    for message in request["messages"]:
        for block in content_blocks(message):
            inner = block.get("content") if block["type"] == "tool_result" else None
            places += [block, *(inner if isinstance(inner, list) else [])]
    count = sum(place.get("cache_control") is not None for place in places)
    if count > MAX_BREAKPOINTS:
        yield (
            f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {count}."
        )


# From Anthropic's documentation of structured outputs: what a schema may not have.
UNSUPPORTED_IN_SCHEMAS = frozenset(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength".split()
)


def _output_format(request: JsonObject) -> Iterator[str]:
    wanted = (request.get("output_config") or {}).get("format")
    if wanted is None:
        return
    if any(
        (b.get("citations") or {}).get("enabled")
        for m in request["messages"]
        for b in content_blocks(m)
        if b["type"] in {"document", "search_result"}
    ):
        yield "output_config.format: is not supported with citations."
    schemas = [wanted.get("schema")]
    while schemas:
        schema = schemas.pop()
        if not isinstance(schema, dict):
            continue
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            yield (
                "output_config.format.schema: For 'object' type, 'additionalProperties' must be "
                "explicitly set to false"
            )
        for name in sorted(UNSUPPORTED_IN_SCHEMAS & schema.keys()):
            kind = schema.get("type")
            yield (
                f"output_config.format.schema: For '{kind}' type, property '{name}' is not supported"
            )
        schemas += [*(schema.get("properties") or {}).values(), schema.get("items")]


RULES: tuple[Callable[[JsonObject], Iterator[str]], ...] = (
    _fields,
    _messages,
    _blocks,
    roles_alternate,
    _tools,
    follows_the_model,
    system_messages_are_in_place,
    thoughts_are_as_they_came,
    turns_end_properly,
    tool_calls_are_answered,
    searches_are_finished,
    _breakpoints,
    _output_format,
)
