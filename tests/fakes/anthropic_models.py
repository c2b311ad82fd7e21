"""The rules of the current models that types cannot say, in the API's own words where those are known.

From Anthropic's migration guides, model pages and error reference of October 2026, and from error bodies
that clients have published.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.fakes.anthropic_wire import JsonObject

MAX_OUTPUT_TOKENS = 128_000
HIGHEST_WITHOUT_THINKING = ("low", "medium", "high")
EFFORT_BETA = "mid-conversation-output-config-2026-07-01"
ADAPTIVE_ONLY = (
    '"thinking.type.{}" is not supported for this model. Use "thinking.type.adaptive" and '
    '"output_config.effort" to control thinking behavior.'
)
SEND_BETWEEN_TOOLS = (
    'To turn thinking off on this model, send "thinking": {"type": "between_tools"} instead of '
    '{"type": "disabled"}. The model does not think before responding. The short updates it writes '
    "between tool calls come back as thinking blocks."
)


@dataclass(frozen=True)
class ModelRules:
    default_effort: str
    thinking: tuple[str, ...]  # the types that it takes
    forced_tools: bool = False
    changes_effort: bool = True  # within a conversation


RULES: dict[str, ModelRules] = {
    "claude-sonnet-5-5": ModelRules("high", ("adaptive", "between_tools")),
    "claude-opus-5-5": ModelRules("medium", ("adaptive",)),
    "claude-haiku-5-5": ModelRules(
        "medium", ("adaptive", "disabled"), forced_tools=True, changes_effort=False
    ),
}


@cache
def known_models() -> frozenset[str]:
    """The ids that the SDK knows; the API answers 404 to others."""
    from anthropic.types.model_param import ModelParam

    literal = next(part for part in typing.get_args(ModelParam) if part is not str)
    return frozenset(typing.get_args(literal))


def follows_the_model(request: JsonObject) -> Iterator[str]:
    """What the model asked for does not take."""
    rules = RULES.get(request["model"])
    if request["max_tokens"] > MAX_OUTPUT_TOKENS:
        yield (
            f"max_tokens: {request['max_tokens']} > {MAX_OUTPUT_TOKENS}, which is the maximum allowed "
            f"number of output tokens for {request['model']}"
        )
    if rules is not None:
        yield from _thinking(request, rules)
        yield from _tool_choice(request, rules)
        yield from _effort_changes(request, rules)


def _thinking(request: JsonObject, rules: ModelRules) -> Iterator[str]:
    kind = (request.get("thinking") or {}).get("type", "adaptive")
    effort = (request.get("output_config") or {}).get("effort") or rules.default_effort
    if kind == "disabled" and "between_tools" in rules.thinking:
        yield SEND_BETWEEN_TOOLS
    if kind in {"disabled", "enabled", "between_tools"} and kind not in rules.thinking:
        yield ADAPTIVE_ONLY.format(kind)
    if kind in {"between_tools", "disabled"} and effort not in HIGHEST_WITHOUT_THINKING:
        yield f'"thinking.type.{kind}" is not supported with effort "{effort}".'


def _tool_choice(request: JsonObject, rules: ModelRules) -> Iterator[str]:
    choice = (request.get("tool_choice") or {}).get("type")
    if choice in {"any", "tool"} and not rules.forced_tools:
        yield 'tool_choice: type "tool" and "any" are not supported for this model.'


def _effort_changes(request: JsonObject, rules: ModelRules) -> Iterator[str]:
    effort = (request.get("output_config") or {}).get("effort") or rules.default_effort
    for index, message in enumerate(request["messages"]):
        change = (message.get("output_config") or {}).get("effort")
        if change is None:
            continue
        if not rules.changes_effort:
            yield f"messages.{index}.output_config: is not supported for this model."
        fixed = (request.get("thinking") or {}).get("type") == "between_tools"
        if fixed and change != effort:
            yield (
                f"messages.{index}.output_config.effort: cannot change within a conversation with "
                '"thinking.type.between_tools".'
            )


def system_messages_are_in_place(request: JsonObject) -> Iterator[str]:
    """Instructions come after a user's turn. A change of effort alone may come anywhere after it."""
    messages = request["messages"]
    for index, message in enumerate(messages):
        if message["role"] != "system":
            continue
        if index == 0:
            yield "messages: first message must use the `user` role"
        if not message["content"]:
            if not message.get("output_config"):
                yield f"messages.{index}: system messages must have non-empty content"
            continue
        before = messages[index - 1]["role"]
        after = messages[index + 1]["role"] if index + 1 < len(messages) else "assistant"
        if before == "assistant" or after == "user":
            yield f"messages.{index}: system messages must follow a user message and end its turn"
