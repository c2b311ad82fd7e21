"""A span as Langfuse shows it, by the property mapping of its OpenTelemetry endpoint.

https://langfuse.com/integrations/native/opentelemetry#property-mapping, as its server carried it out in
August 2026: the type follows from `gen_ai.operation.name`; input and output are the messages, or else the
arguments and result of a tool; system instructions become the first message; a name of a tool replaces the
name of its span; tokens and cost are taken from Langfuse's own attributes before those of the conventions.
"""

import json
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

TYPES = {"chat": "GENERATION", "invoke_agent": "AGENT", "execute_tool": "TOOL"}


@dataclass(frozen=True)
class Observation:
    type: str
    name: str
    input: Any
    output: Any
    level: str
    status_message: str | None
    session_id: Any
    model: Any
    usage: dict[str, int]
    cost: Any


def map_span(span: ReadableSpan) -> Observation:
    given = dict(span.attributes or {})
    failed = span.status.status_code is StatusCode.ERROR
    return Observation(
        type=TYPES.get(str(given.get("gen_ai.operation.name")), "SPAN"),
        name=str(given.get("gen_ai.tool.name") or span.name),
        input=_input(given),
        output=_parse(given.get("gen_ai.output.messages") or given.get("gen_ai.tool.call.result")),
        level="ERROR" if failed else "DEFAULT",
        status_message=span.status.description,
        session_id=given.get("session.id") or given.get("gen_ai.conversation.id"),
        model=given.get("gen_ai.response.model") or given.get("gen_ai.request.model"),
        usage=_usage(given),
        cost=given.get("gen_ai.usage.cost"),
    )


def _input(given: dict[str, Any]) -> Any:
    messages = _parse(given.get("gen_ai.input.messages"))
    if messages is None:
        return _parse(given.get("gen_ai.tool.call.arguments"))
    instructions = _parse(given.get("gen_ai.system_instructions"))
    if not instructions or any(message["role"] == "system" for message in messages):
        return messages
    content = "\n".join(str(part.get("content") or part) for part in instructions)
    return [{"role": "system", "content": content}, *messages]


def _usage(given: dict[str, Any]) -> dict[str, int]:
    """Input without what was read from or written to the cache, which Langfuse counts apart."""
    if own := _parse(given.get("langfuse.observation.usage_details")):
        return dict(own)
    names = {
        "input": "gen_ai.usage.input_tokens",
        "output": "gen_ai.usage.output_tokens",
        "input_cached_tokens": "gen_ai.usage.cache_read.input_tokens",
        "input_cache_creation": "gen_ai.usage.cache_creation.input_tokens",
    }
    usage = {name: int(given[source]) for name, source in names.items() if source in given}
    cached = usage.get("input_cached_tokens", 0) + usage.get("input_cache_creation", 0)
    return {**usage, "input": max(0, usage["input"] - cached)} if "input" in usage else usage


def _parse(value: object) -> Any:
    return json.loads(value) if isinstance(value, str) else None
