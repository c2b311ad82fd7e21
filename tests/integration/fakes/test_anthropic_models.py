"""The rules of the current models: what the fake refuses because the service does, and how it answers."""

from __future__ import annotations

import time
from typing import Any

import anthropic
import pytest

from tests.fakes.anthropic_client import ask, ask_streaming, client_for, request_with, said
from tests.fakes.anthropic_models import EFFORT_BETA
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, thinking, tool_use
from tests.fakes.anthropic_wire import JsonObject

HELLO = answer(text("Hello"))
TOOLS: list[JsonObject] = [{"name": "read_research", "input_schema": {"type": "object"}}]
Q: JsonObject = {"role": "user", "content": [{"type": "text", "text": "Bees?"}]}
SUMMARIZED: JsonObject = {"type": "adaptive", "display": "summarized"}
SONNET, OPUS, HAIKU = "claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"
LOW: JsonObject = {"role": "system", "content": [], "output_config": {"effort": "low"}}
ADAPTIVE_ONLY = (
    'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
)


def refused(**fields: Any) -> str:
    with FakeAnthropic([HELLO]) as server, pytest.raises(anthropic.APIStatusError) as caught:
        ask(server.url, {**request_with(Q), **fields})
    return f"{caught.value.status_code} {caught.value.api_message}"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"model": SONNET, "thinking": {"type": "disabled"}},
            'To turn thinking off on this model, send "thinking": {"type": "between_tools"}',
        ),
        (
            {"model": OPUS, "thinking": {"type": "disabled"}},
            f'"thinking.type.disabled" is not supported for this model. {ADAPTIVE_ONLY}',
        ),
        (
            {"model": HAIKU, "thinking": {"type": "disabled"}, "output_config": {"effort": "max"}},
            '"thinking.type.disabled" is not supported with effort "max"',
        ),
        ({"model": OPUS, "thinking": {"type": "between_tools"}}, "is not supported for this model"),
        (
            {"thinking": {"type": "between_tools"}, "output_config": {"effort": "xhigh"}},
            'is not supported with effort "xhigh"',
        ),
        (
            {"thinking": {"type": "between_tools", "display": "summarized"}},
            "thinking.between_tools.display: Extra inputs are not permitted",
        ),
        ({"thinking": {"type": "film"}}, "does not match any of the expected tags"),
        ({"output_config": {"effort": "huge"}}, "output_config.effort: Input should be 'low'"),
        ({"output_config": {"mood": 1}}, "output_config.mood: Extra inputs are not permitted"),
        ({"max_tokens": 128_001}, "128001 > 128000, which is the maximum allowed number"),
        (
            {"tools": TOOLS, "tool_choice": {"type": "any"}},
            'tool_choice: type "tool" and "any" are not supported for this model.',
        ),
        (
            {"tools": TOOLS, "tool_choice": {"type": "tool", "name": "read_research"}},
            'tool_choice: type "tool" and "any" are not supported for this model.',
        ),
        (
            {"messages": [Q, LOW]},
            "messages.1.output_config: Extra inputs are not permitted",
        ),
        (
            {"tools": [{**TOOLS[0], "colour": "red"}]},
            "colour: Extra inputs are not permitted",
        ),
        (
            {"tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": "5"}]},
            "max_uses: Input should be a valid integer",
        ),
        ({"system": [{"type": "text"}]}, "text: Field required"),
    ],
)
def test_what_the_models_do_not_take_is_refused(fields: dict[str, Any], said: str) -> None:
    complaint = refused(**fields)
    assert complaint.startswith("400 ")
    assert said in complaint


@pytest.mark.parametrize("model", [SONNET, OPUS])
def test_thinking_budgets_are_refused(model: str) -> None:
    budget = {"type": "enabled", "budget_tokens": 1_024}
    assert f'"thinking.type.enabled" is not supported for this model. {ADAPTIVE_ONLY}' in refused(
        model=model, thinking=budget, max_tokens=4_096
    )


def test_a_model_that_nobody_knows_is_not_found() -> None:
    assert refused(model="claude-sonnet-55") == "404 model: claude-sonnet-55"


@pytest.mark.parametrize(
    "fields",
    [
        {"thinking": SUMMARIZED, "output_config": {"effort": "max"}},
        {"thinking": {"type": "between_tools"}, "output_config": {"effort": "low"}},
        {"model": OPUS, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        {"model": HAIKU, "thinking": {"type": "disabled"}, "output_config": {"effort": "high"}},
        {"model": HAIKU, "tools": TOOLS, "tool_choice": {"type": "any"}},
        {"tools": TOOLS, "tool_choice": {"type": "none"}},
    ],
)
def test_what_the_models_take_is_taken(fields: dict[str, Any]) -> None:
    with FakeAnthropic([HELLO]) as server:
        assert ask(server.url, {**request_with(Q), **fields}).stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, None),
        ({"model": HAIKU}, "messages.1.output_config: is not supported for this model."),
        (
            {"thinking": {"type": "between_tools"}, "output_config": {"effort": "medium"}},
            "cannot change within a conversation",
        ),
    ],
)
def test_a_change_of_effort_takes_its_beta_and_a_model_that_knows_it(
    fields: dict[str, Any], said: str | None
) -> None:
    request = {**request_with(Q, LOW), **fields, "extra_headers": {"anthropic-beta": EFFORT_BETA}}
    with FakeAnthropic([HELLO]) as server:
        if said is None:
            assert ask(server.url, request).stop_reason == "end_turn"
            return
        with pytest.raises(anthropic.BadRequestError, match=said):
            ask(server.url, request)


def first_step(server: FakeAnthropic, **fields: Any) -> tuple[JsonObject, JsonObject]:
    """A request with thinking, and the assistant's turn that answered it."""
    request = {**request_with(Q, tools=TOOLS), "thinking": SUMMARIZED, **fields}
    return request, said(ask_streaming(server.url, request))


STEP = answer(thinking("Hm."), text("Reading."), tool_use("read_research", {}, call_id="t1"))
RESULT: JsonObject = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "{}"}],
}


def then(server: FakeAnthropic, request: JsonObject, turn: JsonObject, **fields: Any) -> str:
    """How the next request goes: the stop reason, or what was said against it."""
    following = {**request, "messages": [*request["messages"], turn, RESULT], **fields}
    try:
        return str(ask(server.url, following).stop_reason)
    except anthropic.BadRequestError as error:
        return str(error.api_message)


def test_what_is_said_before_a_call_comes_back_as_thinking() -> None:
    with FakeAnthropic([STEP]) as server:
        _, turn = first_step(server)
    assert [block["type"] for block in turn["content"]] == ["thinking", "thinking", "tool_use"]
    assert turn["content"][1]["thinking"] == "Reading."


def test_thinking_has_no_text_unless_it_is_asked_for() -> None:
    with FakeAnthropic([STEP, STEP]) as server:
        _, omitted = first_step(server, thinking={"type": "adaptive"})
        _, between = first_step(server, thinking={"type": "between_tools"})
    assert [b.get("thinking") for b in omitted["content"]] == ["", "", None]
    assert all(b["signature"] for b in omitted["content"][:2])
    assert [b.get("thinking") for b in between["content"]] == ["Hm.", "Reading.", None]


def test_thinking_that_goes_back_unchanged_is_taken() -> None:
    with FakeAnthropic([STEP, HELLO]) as server:
        request, turn = first_step(server)
        assert then(server, request, turn) == "end_turn"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("text", "in the latest assistant message cannot be modified"),
        ("order", "The block is bound to a different conversation"),
        ("dropped", "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
        ("system", "The block is bound to a different conversation"),
        ("model", "The block is bound to a different conversation"),
        ("question", "The block is bound to a different conversation"),
    ],
)
def test_thinking_that_was_changed_dropped_or_moved_is_refused(change: str, complaint: str) -> None:
    with FakeAnthropic([STEP, HELLO]) as server:
        request, turn = first_step(server)
        first, second, call = turn["content"]
        other: dict[str, Any] = {}
        match change:
            case "text":
                turn = {**turn, "content": [{**first, "thinking": "Ha."}, second, call]}
            case "order":
                turn = {**turn, "content": [second, first, call]}
            case "dropped":
                turn = {**turn, "content": [call]}
            case "question":
                asked = {"role": "user", "content": [{"type": "text", "text": "Wasps?"}]}
                request = {**request, "messages": [asked]}
            case "system":
                other = {"system": "Be brief."}
            case _:
                other = {"model": OPUS}
        assert complaint in then(server, request, turn, **other)


def test_thinking_counts_toward_max_tokens_and_is_billed() -> None:
    thinks = answer(thinking("", tokens=900), text("Hello"))
    with FakeAnthropic([thinks, thinks], count=True) as server:
        whole = ask(server.url, request_with(Q, max_tokens=1_000))
        cut = ask(server.url, request_with(Q, max_tokens=800))
    assert (whole.stop_reason, whole.usage.output_tokens > 900) == ("end_turn", True)
    assert (cut.stop_reason, cut.usage.output_tokens) == ("max_tokens", 800)
    assert [block.type for block in cut.content] == ["thinking"]


def test_while_a_model_thinks_there_is_nothing_but_pings() -> None:
    thinks = answer(thinking("Hm.", seconds=0.6), text("Hello"))
    with FakeAnthropic([thinks], ping_seconds=0.1) as server:
        request = {**request_with(Q), "stream": True}
        began, arrived = time.monotonic(), []
        with client_for(server.url).messages.with_streaming_response.create(**request) as response:
            for line in response.iter_lines():
                if line.startswith("event: "):
                    arrived.append((line[7:], time.monotonic() - began))
    names = [name for name, _ in arrived]
    silent = [name for name, at in arrived if 0.15 < at < 0.5]
    assert set(silent) == {"ping"}
    assert names.count("ping") > 3
    assert names[-1] == "message_stop"


def test_another_effort_loses_the_cached_messages_and_a_change_within_them_does_not() -> None:
    mark: JsonObject = {"cache_control": {"type": "ephemeral"}}
    setup: JsonObject = {"system": [{"type": "text", "text": "Be brief. " * 300, **mark}]}
    asked = {"role": "user", "content": [{"type": "text", "text": "Bees? " * 400, **mark}]}
    beta = {"extra_headers": {"anthropic-beta": EFFORT_BETA}}
    with FakeAnthropic([HELLO] * 3, count=True) as server:
        base = {**request_with(asked, **setup), "output_config": {"effort": "medium"}}
        first = ask(server.url, base)
        changed = ask(server.url, {**base, "messages": [asked, LOW], **beta})
        other = ask(server.url, {**base, "output_config": {"effort": "low"}})
    written = first.usage.cache_creation_input_tokens
    assert changed.usage.cache_read_input_tokens == written
    assert 0 < (other.usage.cache_read_input_tokens or 0) < (written or 0)
