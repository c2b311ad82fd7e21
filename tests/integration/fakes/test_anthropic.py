"""The fake API as the real SDK sees it: its answers and its faults."""

from __future__ import annotations

import json
from collections.abc import Callable

import anthropic
import httpx2
import pytest

from tests.fakes.anthropic_client import (
    QUICK_TIMEOUT_SECONDS,
    ask,
    ask_streaming,
    client_for,
    request_with,
)
from tests.fakes.anthropic_faults import (
    Fault,
    FaultKind,
    cut,
    cut_in_event,
    end_early,
    error_event,
    hang,
    http_error,
    malformed,
    refusing_url,
    reset,
)
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import (
    Turn,
    Usage,
    answer,
    citation,
    pending_web_search,
    redacted_thinking,
    refusal,
    search_result,
    text,
    thinking,
    tool_use,
    web_search,
)
from tests.fakes.anthropic_wire import JsonObject

WEB_SEARCH: JsonObject = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
READ: JsonObject = {"name": "read_research", "input_schema": {"type": "object"}}

RICH = answer(
    thinking("The user asks about bees. I should look for numbers first."),
    redacted_thinking("c2VjcmV0"),
    text("Let me look that up."),
    web_search(
        "urban bees", [search_result("https://bees.example", "Bees", page_age="1 week ago")]
    ),
    web_search("more bees", error="max_uses_exceeded"),
    text("Cities keep bees.", citations=[citation("https://bees.example", "Bees", "many hives")]),
    tool_use("read_research", {"path": "bees/2024-ümlaut.md", "why": "it may have numbers"}),
    tool_use("list_research", {}),
    usage=Usage(900, 120, 30, 40, web_search_requests=1),
)


def test_a_streamed_answer_is_the_same_message_as_a_whole_one() -> None:
    with FakeAnthropic([RICH, RICH]) as server:
        streamed = ask_streaming(server.url, request_with())
        whole = ask(server.url, request_with())
    assert streamed.to_dict() == {**whole.to_dict(), "id": streamed.id}
    assert whole.usage.server_tool_use is not None
    assert (whole.stop_reason, whole.usage.server_tool_use.web_search_requests) == ("tool_use", 1)


def test_a_stream_has_the_events_of_the_api_in_their_order() -> None:
    with FakeAnthropic([RICH]) as server:
        events = list(client_for(server.url).messages.create(**request_with(), stream=True))
        deltas = [event.delta.type for event in events if event.type == "content_block_delta"]
    assert [event.type for event in events[:2]] == ["message_start", "content_block_start"]
    assert [event.type for event in events[-3:]] == [
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert list(dict.fromkeys(deltas)) == [
        "thinking_delta",
        "signature_delta",
        "text_delta",
        "input_json_delta",
        "citations_delta",
    ]
    assert deltas.count("input_json_delta") > 5


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (answer(text("Half a"), stop_reason="max_tokens"), "max_tokens"),
        (answer(text("x"), stop_reason="model_context_window_exceeded"), None),
        (answer(text("x"), stop_reason="something_new"), "something_new"),
        (answer(pending_web_search("bees")), "pause_turn"),
        (answer(text("Done.")), "end_turn"),
    ],
)
def test_stop_reasons_are_given_or_follow_from_the_blocks(turn: Turn, reason: str | None) -> None:
    with FakeAnthropic([turn, turn]) as server:
        expected = reason or turn.stop_reason
        assert ask(server.url, request_with()).stop_reason == expected
        assert ask_streaming(server.url, request_with()).stop_reason == expected


def test_a_refusal_carries_its_details_in_both_forms() -> None:
    with FakeAnthropic([refusal("Not this."), refusal("Not this.")]) as server:
        for message in (ask(server.url, request_with()), ask_streaming(server.url, request_with())):
            assert message.stop_reason == "refusal"
            assert message.stop_details is not None
            assert message.stop_details.explanation == "Not this."


def test_forced_json_answers_a_stream_request_with_one_body() -> None:
    with FakeAnthropic([RICH], force_json=True) as server:
        messages = client_for(server.url).messages
        response = messages.with_raw_response.create(**request_with(), stream=True)
        assert response.headers["content-type"] == "application/json"
        assert json.loads(response.http_response.read())["stop_reason"] == "tool_use"


STATUS_ERRORS: list[tuple[Fault, type[anthropic.APIStatusError], str | None]] = [
    (http_error(400), anthropic.BadRequestError, "invalid_request_error"),
    (http_error(401), anthropic.AuthenticationError, "authentication_error"),
    (http_error(402), anthropic.APIStatusError, "billing_error"),
    (http_error(403), anthropic.PermissionDeniedError, "permission_error"),
    (http_error(404), anthropic.NotFoundError, "not_found_error"),
    (http_error(413), anthropic.ContentTooLargeError, None),
    (http_error(429), anthropic.RateLimitError, "rate_limit_error"),
    (http_error(500), anthropic.InternalServerError, "api_error"),
    (http_error(529), anthropic.OverloadedError, "overloaded_error"),
]


@pytest.mark.parametrize("send", [ask, ask_streaming])
@pytest.mark.parametrize(("fault", "error", "kind"), STATUS_ERRORS)
def test_an_http_error_becomes_the_exception_of_its_status(
    fault: Fault,
    error: type[anthropic.APIStatusError],
    kind: str | None,
    send: Callable[[str, JsonObject], object],
) -> None:
    with FakeAnthropic([fault]) as server:
        with pytest.raises(error) as caught:
            send(server.url, request_with())
        assert (caught.value.status_code, caught.value.type) == (fault.status, kind)
        assert server.billed == Usage()


@pytest.mark.parametrize(("given", "header"), [(7, "7"), (None, None)])
def test_a_rate_limit_says_when_to_come_back_if_told_so(given: int | None, header: str) -> None:
    fault = http_error(429, retry_after=given)
    with FakeAnthropic([fault]) as server, pytest.raises(anthropic.RateLimitError) as caught:
        ask(server.url, request_with())
    assert caught.value.response.headers.get("retry-after") == header


BROKEN_STREAMS: list[tuple[Fault, type[Exception]]] = [
    (cut(), anthropic.APIConnectionError),
    (reset(), anthropic.APIConnectionError),
    (hang(), anthropic.APITimeoutError),
    (cut(after=4), httpx2.RemoteProtocolError),
    (cut_in_event(after=4), httpx2.RemoteProtocolError),
    (reset(after=4), httpx2.NetworkError),
    (hang(after=4), httpx2.ReadTimeout),
    (malformed(after=4), json.JSONDecodeError),
]


def patience_with(fault: Fault) -> float:
    return QUICK_TIMEOUT_SECONDS if fault.kind is FaultKind.HANG else 10.0


@pytest.mark.parametrize(("fault", "error"), BROKEN_STREAMS)
def test_a_broken_stream_raises_and_costs_what_was_sent(
    fault: Fault, error: type[Exception]
) -> None:
    with FakeAnthropic([answer(*RICH.blocks, usage=RICH.usage, fault=fault)]) as server:
        with pytest.raises(error):
            ask_streaming(server.url, request_with(), timeout=patience_with(fault))
        sent_something = fault.after > 0
        assert server.billed.input_tokens == (900 if sent_something else 0)
        assert (0 < server.billed.output_tokens < 120) == sent_something
        assert server.billed.web_search_requests == 0


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (error_event(after=3), anthropic.OverloadedError),
        (cut(after=3), anthropic.APIConnectionError),
        (malformed(after=3), json.JSONDecodeError),
        (hang(after=3), anthropic.APITimeoutError),
    ],
)
def test_a_stream_fault_breaks_a_whole_answer_too(fault: Fault, error: type[Exception]) -> None:
    with FakeAnthropic([fault]) as server, pytest.raises(error):
        ask(server.url, request_with(), timeout=patience_with(fault))


def test_an_error_event_keeps_status_200_and_names_its_type() -> None:
    fault = error_event("api_error", after=3)
    with FakeAnthropic([fault]) as server, pytest.raises(anthropic.APIStatusError) as caught:
        ask_streaming(server.url, request_with())
    assert (caught.value.status_code, caught.value.type) == (200, "api_error")


def test_a_stream_that_ends_early_raises_nothing_and_has_no_stop_reason() -> None:
    with FakeAnthropic([end_early(after=4)]) as server:
        assert ask_streaming(server.url, request_with()).stop_reason is None


@pytest.mark.parametrize(
    ("turn", "error"),
    [
        (answer(text("late"), delay=30), anthropic.APITimeoutError),
        (answer(text("slow"), drip=30), httpx2.ReadTimeout),
    ],
)
def test_a_slow_answer_runs_into_the_read_timeout(turn: Turn, error: type[Exception]) -> None:
    with FakeAnthropic([turn]) as server, pytest.raises(error):
        ask_streaming(server.url, request_with(), timeout=QUICK_TIMEOUT_SECONDS)


def test_a_refusing_address_refuses() -> None:
    with refusing_url() as url, pytest.raises(anthropic.APIConnectionError):
        ask(url, request_with())
