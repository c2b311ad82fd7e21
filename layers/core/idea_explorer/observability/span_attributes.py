"""Attributes of spans, named by OpenTelemetry's GenAI conventions where they have a name.

Prompts, results and answers are left out unless `capture` is on. Error messages are always included: they
contain at most a path or an argument's name.
"""

import json
from collections.abc import Mapping
from typing import TypeAlias

from opentelemetry.util.types import AttributeValue

from idea_explorer.domain.events import (
    AnswerStarted,
    EventUsage,
    MessageEnd,
    RetryScheduled,
    StepFinished,
    ToolCallEnd,
    ToolCallError,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.observability.span_messages import (
    dump_input,
    dump_instructions,
    dump_output,
    dump_text,
)

AGENT = "idea-explorer"
PROVIDERS = {"offline": "offline"}  # every other model is Anthropic's

Attributes: TypeAlias = Mapping[str, AttributeValue | None]


def describe_session(exploration: Exploration) -> Attributes:
    """For every span, because viewers collect the spans of a session one by one."""
    session = exploration.conversation_id
    return {"gen_ai.conversation.id": session, "session.id": session}


def describe_run(exploration: Exploration, model_id: str, *, capture: bool) -> Attributes:
    request = exploration.request
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": AGENT,
        **_describe_model(model_id),
        "idea_explorer.exploration_id": exploration.id,
        "idea_explorer.run": exploration.run.number,
        "idea_explorer.toolset": request.toolset,
        "idea_explorer.mode": request.mode,
        "idea_explorer.depth": exploration.depth,
        "gen_ai.input.messages": dump_text("user", request.idea) if capture else None,
    }


def describe_root() -> Attributes:
    """For a run below a span of AWS, which Langfuse never sees: without it the trace has no name."""
    return {"langfuse.internal.as_root": True}


def describe_end(outcome: str, event: MessageEnd | None, text: str, *, capture: bool) -> Attributes:
    """`text` is that of the last answer."""
    return {
        "gen_ai.output.messages": dump_text("assistant", text) if capture and text else None,
        "idea_explorer.outcome": outcome,
        "idea_explorer.stop_reason": event.stop_reason if event else None,
        "error.type": event.error_code if event else None,
    }


def describe_model_call(model_id: str, start: AnswerStarted | None, *, capture: bool) -> Attributes:
    shown = start if capture else None
    return {
        "idea_explorer.step": start.step if start else None,
        "gen_ai.system_instructions": dump_instructions(shown.system) if shown else None,
        "gen_ai.input.messages": dump_input(shown.messages) if shown else None,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.stream": True,
        **_describe_model(model_id),
    }


def describe_answer(event: StepFinished, *, capture: bool) -> Attributes:
    output = dump_output(event.blocks, event.stop_reason) if capture else None
    return {
        "idea_explorer.step": event.step,
        "durationMs": event.duration_ms,
        "gen_ai.response.finish_reasons": [event.stop_reason],
        "gen_ai.output.messages": output,
        "gen_ai.usage.cost": event.cost,
        **_describe_usage(event.usage),
    }


def describe_tool_call(
    start: ToolCallStart, end: ToolCallEnd | ToolCallError | None, *, capture: bool
) -> Attributes:
    result = _describe_result(end) if capture and end else None
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": start.tool_name,
        "gen_ai.tool.call.id": start.tool_call_id,
        "gen_ai.tool.type": "extension" if start.during_answer else "function",
        "gen_ai.tool.call.arguments": json.dumps(start.input) if capture else None,
        "gen_ai.tool.call.result": json.dumps(result) if result else None,
        "idea_explorer.retried": (end.record.was_retried or None) if end else None,
        "durationMs": end.record.duration_ms if end and not start.during_answer else None,
        "error.type": end.record.error_type if end else "unfinished",
    }


def describe_retry(event: RetryScheduled) -> Attributes:
    """For a model call that failed and will be tried again."""
    return {"idea_explorer.next_attempt": event.attempt, "error.type": event.error_type}


def _describe_result(end: ToolCallEnd | ToolCallError) -> JsonObject | None:
    if isinstance(end, ToolCallEnd):
        return end.output
    return {"ok": False, "error": end.error, "retryable": end.retryable}


def drop_missing(attributes: Attributes) -> dict[str, AttributeValue]:
    return {name: value for name, value in attributes.items() if value is not None}


def _describe_model(model_id: str) -> Attributes:
    return {
        "gen_ai.provider.name": PROVIDERS.get(model_id, "anthropic"),
        "gen_ai.request.model": model_id,
    }


def _describe_usage(usage: EventUsage) -> Attributes:
    """Tokens as the conventions count them: input includes cache reads and writes. Langfuse adds up all
    kinds of tokens unless each is given separately."""
    cache_read, cache_write = usage.cache_read_tokens, usage.cache_write_tokens
    separate = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "input_cached_tokens": cache_read,
        "input_cache_creation": cache_write,
    }
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens + cache_read + cache_write,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": cache_read,
        "gen_ai.usage.cache_creation.input_tokens": cache_write,
        "langfuse.observation.usage_details": json.dumps(separate),
    }
