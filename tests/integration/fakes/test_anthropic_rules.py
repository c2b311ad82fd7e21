"""What the fake API refuses, what it notices, and what it counts."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx
import httpx2
import pytest

from tests.fakes.anthropic_client import ask, ask_streaming, client_for, request_with, said
from tests.fakes.anthropic_faults import cut
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import (
    answer,
    pending_web_search,
    search_result,
    text,
    thinking,
    tool_use,
    web_search_result,
)
from tests.fakes.anthropic_wire import Block, JsonObject

TOOLS: list[JsonObject] = [
    {"name": "read_research", "input_schema": {"type": "object"}},
    {"type": "web_search_20250305", "name": "web_search"},
]
MARK: JsonObject = {"cache_control": {"type": "ephemeral"}}
HELLO = answer(text("Hello"))


def user(*content: Block | str) -> JsonObject:
    blocks = [text(part) if isinstance(part, str) else part for part in content]
    return {"role": "user", "content": blocks}


def model(*content: Block) -> JsonObject:
    return {"role": "assistant", "content": list(content)}


def call(name: str) -> Block:
    return tool_use("read_research", {}, call_id=name)


def result(name: str) -> Block:
    return {"type": "tool_result", "tool_use_id": name, "content": "{}"}


def found(name: str) -> Block:
    return {**web_search_result([search_result("https://a.example", "A")]), "tool_use_id": name}


SEARCH = pending_web_search("bees", call_id="srvtoolu_1")
Q = user("Bees?")
BAD_MESSAGES: list[tuple[str, list[JsonObject], str]] = [
    ("none", [], "messages: at least one message is required"),
    ("assistant first", [model(text("Hi"))], "first message must use the `user` role"),
    ("other role", [{"role": "tool", "content": "x"}], "unexpected role 'tool'"),
    (
        "system first",
        [{"role": "system", "content": "x"}],
        "first message must use the `user` role",
    ),
    (
        "instructions after an answer",
        [Q, model(text("a")), {"role": "system", "content": "x"}, Q],
        "system messages must follow a user message",
    ),
    ("two users", [Q, Q], "roles must alternate"),
    ("two assistants", [Q, model(text("a")), model(text("b")), Q], "roles must alternate"),
    ("empty content", [user()], "user messages must have non-empty content"),
    ("empty string", [{"role": "user", "content": ""}], "must have non-empty content"),
    ("empty text", [user(text(""))], "text content blocks must be non-empty"),
    ("blank text", [user(text(" \n"))], "must contain non-whitespace text"),
    ("unknown block", [user({"type": "film"})], "does not match any of the expected tags"),
    ("missing field", [user({"type": "tool_result"})], "tool_use_id: Field required"),
    (
        "field of the SDK",
        [Q, model({**text("a"), "parsed_output": None}), Q],
        "messages.1.content.0.text.parsed_output: Extra inputs are not permitted",
    ),
    ("call by a user", [user(call("t1"))], "`tool_use` blocks can only be in `assistant` messages"),
    ("no result", [Q, model(call("t1")), Q], "ids were found without `tool_result` blocks"),
    ("no answer to a call", [Q, model(call("t1"))], "ids were found without `tool_result` blocks"),
    ("one result of two", [Q, model(call("t1"), call("t2")), user(result("t1"))], "after: t2"),
    ("result after text", [Q, model(call("t1")), user("Here:", result("t1"))], "after: t1"),
    ("stray result", [Q, model(text("a")), user(result("t1"))], "unexpected `tool_use_id`"),
    ("result twice", [Q, model(call("t1")), user(result("t1"), result("t1"))], "a single result"),
    (
        "call id used again",
        [Q, model(call("t1")), user(result("t1")), model(call("t1")), user(result("t1"))],
        "`tool_use` ids must be unique",
    ),
    ("prefill", [Q, model(text("The answer is"))], "does not support assistant message prefill"),
    ("search left open", [Q, model(SEARCH), user("Go on")], "without a corresponding"),
    (
        "words while a search is open",
        [Q, model(SEARCH, call("t1")), user(result("t1"), "Now write")],
        "without a corresponding",
    ),
    ("stray search result", [Q, model(found("srvtoolu_9")), Q], "before it"),
    (
        "search forgotten",
        [Q, model(SEARCH, call("t1")), user(result("t1")), model(text("a")), Q],
        "without a corresponding",
    ),
    (
        "changed thought",
        [Q, model({**thinking("Yes."), "thinking": "No."}, text("a")), Q],
        "blocks in the latest assistant message cannot be modified",
    ),
    ("five breakpoints", [user(*[{**text("a"), **MARK}] * 5)], "Found 5."),
]


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [case[1:] for case in BAD_MESSAGES],
    ids=[case[0] for case in BAD_MESSAGES],
)
def test_messages_that_the_api_refuses_are_refused(
    messages: list[JsonObject], complaint: str
) -> None:
    with FakeAnthropic([HELLO]) as server:
        with pytest.raises(anthropic.BadRequestError) as caught:
            ask(server.url, {**request_with(tools=TOOLS), "messages": messages})
        assert caught.value.type == "invalid_request_error"
        assert complaint in str(caught.value.api_message)
        assert server.rejections == [caught.value.api_message]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"max_tokens": 0}, "max_tokens: must be greater than or equal to 1"),
        ({"model": ""}, "model: Input should be a valid string"),
        ({"tool_choice": {"type": "none"}}, "may only be specified while providing tools"),
        ({"tools": TOOLS, "tool_choice": {"type": "maybe"}}, "does not match the expected tags"),
        ({"tools": TOOLS, "tool_choice": {"type": "tool", "name": "x"}}, "not found in provided"),
        ({"tools": [*TOOLS, *TOOLS]}, "Tool names must be unique"),
        ({"tools": [{"name": "x"}]}, "input_schema: Field required"),
        ({"extra_body": {"temperature": 0.5}}, "`temperature` is deprecated for this model."),
        ({"extra_body": {"mood": "good"}}, "mood: Extra inputs are not permitted"),
        ({"messages": [Q, model(call("t1")), user(result("t1"))]}, "must define tools"),
    ],
)
def test_fields_that_the_api_refuses_are_refused(fields: dict[str, Any], complaint: str) -> None:
    with FakeAnthropic([HELLO]) as server, pytest.raises(anthropic.BadRequestError) as caught:
        ask(server.url, {**request_with(), **fields})
    assert complaint in str(caught.value.api_message)


@pytest.mark.parametrize(
    "messages",
    [
        [Q, model(call("t1"), call("t2")), user(result("t2"), result("t1"), "Now write.")],
        [Q, model(SEARCH)],
        [Q, model(SEARCH, found("srvtoolu_1"))],
        [Q, model(SEARCH), model(found("srvtoolu_1"), text("a")), Q],
        [Q, model(SEARCH, call("t1")), user(result("t1"))],
        [Q, model(SEARCH, call("t1")), user(result("t1")), model(found("srvtoolu_1")), Q],
        [Q, model(thinking("Hm."), text("\n\n")), Q],
    ],
)
def test_messages_that_the_api_takes_are_taken(messages: list[JsonObject]) -> None:
    with FakeAnthropic([HELLO]) as server:
        assert ask(server.url, request_with(*messages, tools=TOOLS)).stop_reason == "end_turn"


def test_a_paused_turn_that_ends_in_text_may_be_sent_back() -> None:
    paused = answer(SEARCH, found("srvtoolu_1"), text("More."), stop_reason="pause_turn")
    with FakeAnthropic([paused, HELLO]) as server:
        first = said(ask(server.url, request_with(Q, tools=TOOLS)))
        assert ask(server.url, request_with(Q, first, tools=TOOLS)).stop_reason == "end_turn"
        assert server.violations == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"x-api-key": "wrong", "anthropic-version": "2023-06-01"}, 401),
        ({"x-api-key": "right"}, 400),
        ({"x-api-key": "right", "anthropic-version": "2023-06-01"}, 200),
        ({"authorization": "Bearer right", "anthropic-version": "2023-06-01"}, 200),
    ],
)
def test_key_and_version_are_asked_for(headers: dict[str, str], status: int) -> None:
    with FakeAnthropic([HELLO], expected_key="right") as server:
        url = f"{server.url}/v1/messages"
        assert httpx.post(url, headers=headers, json=request_with()).status_code == status


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/v1/messages", "no json", 400), ("/v1/messages", "[]", 400), ("/v2/messages", "{}", 404)],
)
def test_what_is_no_request_is_an_error(path: str, body: str, status: int) -> None:
    headers = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
    with FakeAnthropic([HELLO]) as server:
        answered = httpx.post(server.url + path, headers=headers, content=body)
    assert (answered.status_code, answered.json()["type"]) == (status, "error")


def conversation(server: FakeAnthropic, *, system: str, **rewritten: JsonObject) -> list[str]:
    """Two steps of a conversation, the second with changed messages; what the server noticed."""
    first = said(ask_streaming(server.url, request_with(Q, tools=TOOLS, system="Be brief.")))
    name = next(block["id"] for block in first["content"] if block["type"] == "tool_use")
    steps = {"first": first, "second": user({**result(name), **MARK})} | rewritten
    ask(server.url, request_with(Q, *steps.values(), tools=TOOLS, system=system))
    return server.violations


STEP = answer(thinking("Hm."), text("Reading."), tool_use("read_research", {}, call_id="t1"))


def test_a_conversation_that_only_grows_violates_nothing() -> None:
    with FakeAnthropic([STEP, HELLO, HELLO, HELLO]) as server:
        assert conversation(server, system="Be brief.") == []
        after_a_crash = request_with(
            Q, model(*STEP.blocks), user({**result("t1"), "content": "read anew"}), tools=TOOLS
        )
        ask(server.url, {**after_a_crash, "system": "Be brief."})
        ask(server.url, request_with(user("Something else?")))
        assert server.violations == []


@pytest.mark.parametrize(
    ("changes", "noticed"),
    [
        ({"system": "Be long."}, "request 2: `system` is not what request 1 had"),
        (
            {"system": "Be brief.", "first": model(STEP.blocks[0], *STEP.blocks[2:])},
            "it leaves request 1 at block 2: assistant:",
        ),
        (
            {"system": "Be brief.", "third": model(text("invented")), "fourth": Q},
            "it leaves request 1 at block 4: user:",
        ),
    ],
)
def test_a_conversation_that_was_rewritten_is_noticed(
    changes: dict[str, Any], noticed: str
) -> None:
    with FakeAnthropic([STEP, HELLO]) as server:
        violations = conversation(server, **changes)
    assert len(violations) == 1
    assert noticed in violations[0]


def test_an_answer_that_was_cut_off_cannot_be_built_upon() -> None:
    with FakeAnthropic([answer(text("Hello"), fault=cut(after=6)), HELLO]) as server:
        with pytest.raises(httpx2.RemoteProtocolError):
            ask_streaming(server.url, request_with(Q))
        ask(server.url, request_with(Q, model(text("Hello")), user("Go on.")))
        assert len(server.violations) == 1


def test_counted_usage_reads_from_the_cache_what_was_marked_before() -> None:
    setup: JsonObject = {"tools": TOOLS, "system": [{**text("Be brief. " * 300), **MARK}]}
    marked = user({**result("t1"), **MARK})
    with FakeAnthropic([STEP, HELLO, HELLO, HELLO], count=True) as server:
        first = ask(server.url, request_with(user({**text("Bees?"), **MARK}), **setup))
        grown = request_with(Q, said(first), marked, **setup)
        second = ask_streaming(server.url, grown)
        repeated = ask(server.url, grown)
        tools_off = ask(server.url, {**grown, "tool_choice": {"type": "none"}})
    read = [m.usage.cache_read_input_tokens for m in (first, second, repeated, tools_off)]
    written = [m.usage.cache_creation_input_tokens or 0 for m in (first, second, repeated)]
    assert read[:3] == [0, written[0], written[0] + written[1]]
    assert (written[2], first.usage.input_tokens) == (0, 0)
    # Another tool_choice keeps tools and system in the cache, but not the messages.
    assert 0 < (read[3] or 0) < written[0]


def test_counted_answers_keep_to_max_tokens() -> None:
    long_answer = answer(text("word " * 1000), tool_use("read_research", {}))
    with FakeAnthropic([long_answer], count=True) as server:
        message = ask(server.url, request_with(tools=TOOLS, max_tokens=50))
    assert (message.stop_reason, len(message.content)) == ("max_tokens", 1)
    assert 40 < message.usage.output_tokens <= 50


def test_what_is_billed_is_what_all_answers_said_they_cost() -> None:
    search = answer(SEARCH, found("srvtoolu_1"), text("Found."))
    with FakeAnthropic([search, HELLO]) as server:
        first, second = (ask_streaming(server.url, request_with(tools=TOOLS)) for _ in range(2))
        billed = server.billed
    assert billed.input_tokens == first.usage.input_tokens + second.usage.input_tokens > 0
    assert billed.output_tokens == first.usage.output_tokens + second.usage.output_tokens > 0
    assert billed.web_search_requests == 1


def test_tokens_can_be_counted_without_asking() -> None:
    with FakeAnthropic([HELLO]) as server:
        request = request_with()
        counting = {key: request[key] for key in ("model", "messages")}
        counted = client_for(server.url).messages.count_tokens(**counting).input_tokens
        assert counted == ask(server.url, request).usage.input_tokens
        assert len(server.requests) == 1
