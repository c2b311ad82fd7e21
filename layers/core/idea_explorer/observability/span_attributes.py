"""What spans say, under the names of OpenTelemetry's GenAI conventions where those have one.

What was asked, read and written is left out unless `capture` is on. Error messages are always there: they
name what failed, and hold at most a path or an argument's name.
"""

import json
from collections.abc import Mapping
from typing import TypeAlias

from opentelemetry.util.types import AttributeValue
from pydantic import JsonValue

from idea_explorer.domain.events import (
    EventUsage,
    MessageEnd,
    StepFinished,
    ToolCallEnd,
    ToolCallError,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Exploration

AGENT = "idea-explorer"
PROVIDERS = {"offline": "offline"}  # every other model is Anthropic's

Attributes: TypeAlias = Mapping[str, AttributeValue | None]


def of_session(exploration: Exploration) -> Attributes:
    """On every span, because viewers gather spans of a session one by one."""
    session = exploration.conversation_id
    return {"gen_ai.conversation.id": session, "session.id": session}


def of_run(exploration: Exploration, model_id: str, *, capture: bool) -> Attributes:
    request = exploration.request
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": AGENT,
        **_of_model(model_id),
        "idea_explorer.exploration_id": exploration.id,
        "idea_explorer.run": exploration.run.number,
        "idea_explorer.toolset": request.toolset,
        "idea_explorer.mode": request.mode,
        "gen_ai.input.messages": _said("user", request.idea) if capture else None,
    }


def of_ending(outcome: str, event: MessageEnd | None) -> Attributes:
    return {
        "idea_explorer.outcome": outcome,
        "idea_explorer.stop_reason": event.stop_reason if event else None,
        "error.type": event.error_code if event else None,
    }


def of_call(model_id: str) -> Attributes:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.stream": True,
        **_of_model(model_id),
    }


def of_answer(event: StepFinished, text: str, *, capture: bool) -> Attributes:
    return {
        "idea_explorer.step": event.step,
        "gen_ai.response.finish_reasons": [event.stop_reason],
        "gen_ai.output.messages": _said("assistant", text) if capture else None,
        "gen_ai.usage.cost": event.cost,
        **_of_usage(event.usage),
    }


def of_tool(
    start: ToolCallStart, end: ToolCallEnd | ToolCallError | None, *, capture: bool
) -> Attributes:
    output = end.output if isinstance(end, ToolCallEnd) else None
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": start.tool_name,
        "gen_ai.tool.call.id": start.tool_call_id,
        "gen_ai.tool.type": "extension" if start.during_answer else "function",
        "gen_ai.tool.call.arguments": json.dumps(start.input) if capture else None,
        "gen_ai.tool.call.result": json.dumps(output) if capture and output else None,
        "durationMs": end.record.duration_ms if end and not start.during_answer else None,
        "error.type": end.record.error_type if end else "unfinished",
    }


def known(attributes: Attributes) -> dict[str, AttributeValue]:
    return {name: value for name, value in attributes.items() if value is not None}


def _of_model(model_id: str) -> Attributes:
    return {
        "gen_ai.provider.name": PROVIDERS.get(model_id, "anthropic"),
        "gen_ai.request.model": model_id,
    }


def _of_usage(usage: EventUsage) -> Attributes:
    """Tokens as the conventions count them: the input includes what the cache read and wrote.

    Langfuse adds all kinds of tokens up unless it is told each by itself.
    """
    cache_read, cache_write = usage.cache_read_tokens, usage.cache_write_tokens
    apart = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "input_cached_tokens": cache_read,
        "input_cache_creation": cache_write,
    }
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens + cache_read + cache_write,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": cache_read,
        "gen_ai.usage.cache_write.input_tokens": cache_write,
        "langfuse.observation.usage_details": json.dumps(apart),
    }


def _said(role: str, text: str) -> str:
    messages: JsonValue = [{"role": role, "parts": [{"type": "text", "content": text}]}]
    return json.dumps(messages)
