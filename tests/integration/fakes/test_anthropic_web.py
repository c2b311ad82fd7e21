"""The fake's rules for web tools and citations, which are those of the documentation."""

from typing import Any

import pytest

from tests.fakes.anthropic_answers import assemble
from tests.fakes.anthropic_counting import PromptCache
from tests.fakes.anthropic_turns import (
    answer,
    filtered_search,
    result_citation,
    search_result,
    text,
    web_fetch,
    web_search,
)
from tests.fakes.anthropic_validation import complaint_about
from tests.fakes.anthropic_wire import Block, JsonObject

SEARCH: Block = {"type": "web_search_20250305", "name": "web_search"}
READ: Block = {"name": "read", "input_schema": {"type": "object"}}
CALL: Block = {"type": "tool_use", "id": "c", "name": "read", "input": {}}


def result(words: str = "Tea.", *, cited: bool = True) -> Block:
    return {
        "type": "search_result",
        "source": "a.md",
        "title": "A",
        "content": [{"type": "text", "text": words}],
        "citations": {"enabled": cited},
    }


def request(*content: Block, tools: list[Block] | None = None, more: Any = ()) -> JsonObject:
    answered = {"type": "tool_result", "tool_use_id": "c", "content": [*content]}
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
        "tools": tools or [READ],
        "messages": [
            {"role": "user", "content": "Read https://user.example/a"},
            {"role": "assistant", "content": [CALL]},
            {"role": "user", "content": [answered]},
            *more,
        ],
    }


def test_results_that_are_all_citable_are_taken() -> None:
    assert complaint_about(request(result(), result("Two.")), ()) is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([result(), {"type": "text", "text": "Also."}], "all blocks must be of that type"),
        ([result(), result(cited=False)], "on all `search_result` blocks"),
        ([result(" ")], "non-empty"),
        ([{**result(), "content": []}], "at least one text block"),
        ([{**result(), "title": None}], "title: Field required"),
    ],
)
def test_other_results_are_refused(content: list[Block], said: str) -> None:
    assert said in str(complaint_about(request(*content), ()))


def test_with_web_search_results_have_to_be_citable() -> None:
    refused = complaint_about(request(result(cited=False), tools=[READ, SEARCH]), ())
    assert "when web search is enabled" in str(refused)


@pytest.mark.parametrize(
    ("words", "number", "fine"), [("Tea.", 0, True), ("Te", 0, False), ("Tea.", 4, False)]
)
def test_a_citation_that_comes_back_must_be_of_what_is_there(
    words: str, number: int, fine: bool
) -> None:
    said = text(
        "It is tea.", citations=[result_citation("a.md", "A", words, result=number, block=0)]
    )
    more = [{"role": "assistant", "content": [said]}, {"role": "user", "content": "Go on."}]
    assert (complaint_about(request(result(), more=more), ()) is None) is fine


def test_documents_are_cited_all_or_none_and_pages_are_documents() -> None:
    call, page = web_fetch("https://user.example/a", "Words.", call_id="f")
    plain = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "x"},
    }
    fetch = {"type": "web_fetch_20260318", "name": "web_fetch"}
    more = [
        {"role": "assistant", "content": [call, {**page, "tool_use_id": "f"}]},
        {"role": "user", "content": [plain]},
    ]
    assert "on all `document` blocks" in str(
        complaint_about(request(result(), tools=[READ, fetch], more=more), ())
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]}, "both"),
        ({"allowed_domains": ["https://a.example"]}, "not a valid domain"),
        ({"blocked_domains": ["*.a.example"]}, "not a valid domain"),
        ({"user_location": {"type": "approximate"}}, "at least one field"),
        ({"max_uses": 0}, "greater than 0"),
    ],
)
def test_wrong_definitions_are_refused(fields: JsonObject, said: str) -> None:
    assert said in str(complaint_about(request(result(), tools=[READ, {**SEARCH, **fields}]), ()))


def test_a_model_without_code_calls_the_newer_versions_directly() -> None:
    newer: Block = {"type": "web_search_20260318", "name": "web_search"}
    old = {**request(result(), tools=[READ, newer]), "model": "claude-sonnet-4-5"}
    assert "programmatic" in str(complaint_about(old, ()))
    old["tools"] = [READ, {**newer, "allowed_callers": ["direct"]}]
    assert complaint_about(old, ()) is None


@pytest.mark.parametrize(
    ("url", "fields", "code"),
    [
        ("https://user.example/a", {}, None),
        ("https://result.example/b", {}, None),
        ("https://found.example/c", {}, None),
        ("https://made.example/up", {}, "url_not_in_prior_context"),
        (
            "https://result.example/b",
            {"url_sources": {"client_tool_results": {"type": "none"}}},
            "url_not_in_prior_context",
        ),
        ("https://user.example/a", {"allowed_domains": ["b.example"]}, "url_not_allowed"),
        ("https://user.example/a", {"blocked_domains": ["user.example"]}, "url_not_allowed"),
        (f"https://user.example/{'a' * 250}", {}, "url_too_long"),
    ],
)
def test_pages_open_that_the_conversation_names(
    url: str, fields: JsonObject, code: str | None
) -> None:
    fetch = {"type": "web_fetch_20260318", "name": "web_fetch", **fields}
    asked = request(result("See https://result.example/b ."), tools=[READ, SEARCH, fetch])
    found = web_search("q", [search_result("https://found.example/c", "C")])
    turn = answer(found, web_fetch(url, "Words."), text("Done."))

    content = assemble(asked, turn, 1, None, force_json=True).message["content"]

    assert content[3]["content"].get("error_code") == code


def test_pages_open_as_often_as_they_may() -> None:
    fetch = {"type": "web_fetch_20260318", "name": "web_fetch", "max_uses": 1}
    twice = [web_fetch("https://user.example/a", "Words.") for _ in range(2)]
    message = assemble(
        request(result(), tools=[READ, fetch]),
        answer(*twice, text("Done.")),
        1,
        None,
        force_json=True,
    ).message
    codes = [block["content"].get("error_code") for block in message["content"][1:4:2]]
    assert codes == [None, "max_uses_exceeded"]


def test_what_only_code_has_read_is_not_in_the_context() -> None:
    found = [search_result("https://found.example/c", "C", size=40_000)]
    direct = answer(web_search("q", found), text("Done."))
    filtered = answer(*filtered_search("q", found, "One line.", call_id="x"), text("Done."))
    asked = request(result(), tools=[READ, SEARCH])

    read = [
        assemble(asked, turn, 1, PromptCache(), force_json=True).usage.input_tokens
        for turn in (direct, filtered)
    ]

    assert read[0] > 10_000
    assert read[1] < 500
