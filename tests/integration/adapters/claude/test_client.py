"""The real SDK against a server that speaks the Messages API."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from idea_explorer.adapters.claude import Claude
from idea_explorer.agent.stream_watcher import Interrupted
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import (
    ExternalError,
    ModelRefusesError,
    NetworkError,
    RateLimitedError,
    RejectedError,
    TooLongError,
    UnavailableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest
from tests.fakes import anthropic_faults as faults
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import Usage as Billed
from tests.fakes.anthropic_turns import (
    answer,
    citation,
    refusal,
    search_result,
    text,
    thinking,
    tool_use,
    web_search,
)
from tests.fakes.clock import ManualClock


@dataclass
class Watched:
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    ticks: int = 0

    def tick(self) -> None:
        self.ticks += 1

    def thinking(self, delta: str) -> None:
        self.thoughts.append(delta)

    def text(self, delta: str) -> None:
        self.texts.append(delta)

    def block(self, block: Block) -> None:
        self.blocks.append(block)

    def usage(self, usage: Usage) -> None:
        self.usages.append(usage)


TOOLS: Sequence[Block] = [
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    {
        "name": "read_research",
        "description": "Read.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
]
REQUEST = ModelRequest(
    model_id="claude-sonnet-5-5",
    system=[{"type": "text", "text": "You research."}],
    tools=TOOLS,
    messages=[{"role": "user", "content": [{"type": "text", "text": "An idea."}]}],
    max_tokens=1_000,
    writing=False,
)


def ask(
    server: FakeAnthropic, request: ModelRequest = REQUEST, seconds: float = 30
) -> tuple[ModelAnswer, Watched]:
    watched = Watched()
    deadline = Deadline.after(ManualClock(), seconds=seconds)
    return Claude.with_key("test-key", server.url).answer(request, watched, deadline), watched


RICH = answer(
    thinking("Let me look."),
    web_search("tea rooms", [search_result("https://example.org/tea", "Tea")]),
    text("Tea is popular.", citations=[citation("https://example.org/tea", "Tea", "popular")]),
    tool_use("read_research", {"path": "a.md", "deep": {"list": [1, 2]}}),
    usage=Billed(
        input_tokens=11,
        output_tokens=22,
        cache_creation_input_tokens=33,
        cache_read_input_tokens=44,
        web_search_requests=1,
    ),
)


def test_a_streamed_and_a_plain_answer_are_the_same() -> None:
    with FakeAnthropic([RICH]) as server:
        streamed, watched = ask(server)
    with FakeAnthropic([RICH], force_json=True) as server:
        plain, seen = ask(server)
    assert streamed == plain
    assert "".join(watched.texts) == "".join(seen.texts) == "Tea is popular."
    assert [b["type"] for b in watched.blocks] == [b["type"] for b in seen.blocks]
    assert watched.ticks > len(watched.blocks)


def test_usage_counts_caches_and_searches() -> None:
    with FakeAnthropic([RICH]) as server:
        found, watched = ask(server)
    assert found.usage == Usage(
        input_tokens=11, output_tokens=22, cache_write_tokens=33, cache_read_tokens=44, searches=1
    )
    assert watched.usages[-1] == found.usage


@dataclass
class Impatient(Watched):
    """Breaks the answer off at the first chance."""

    def tick(self) -> None:
        raise Interrupted("cancelled")


def test_what_the_first_event_tells_is_counted_before_the_answer_is_broken_off() -> None:
    watched = Impatient()
    deadline = Deadline.after(ManualClock(), seconds=30)
    with FakeAnthropic([RICH]) as server, pytest.raises(Interrupted):
        Claude.with_key("test-key", server.url).answer(REQUEST, watched, deadline)
    (told,) = watched.usages
    assert (told.input_tokens, told.cache_write_tokens) == (11, 33)


def test_an_answer_that_came_whole_is_kept() -> None:
    deadline = Deadline.after(ManualClock(), seconds=30)
    with FakeAnthropic([RICH], force_json=True) as server:
        found = Claude.with_key("test-key", server.url).answer(REQUEST, Impatient(), deadline)
    assert found.usage.output_tokens == 22


def test_blocks_go_back_as_they_came_and_are_accepted() -> None:
    with FakeAnthropic([RICH, answer(text("Done."))]) as server:
        found, _ = ask(server)
        call = next(b for b in found.content if b["type"] == "tool_use")
        result: Block = {"type": "tool_result", "tool_use_id": call["id"], "content": "{}"}
        again = replace(
            REQUEST,
            messages=[
                *REQUEST.messages,
                {"role": "assistant", "content": [*found.content]},
                {"role": "user", "content": [result]},
            ],
        )
        done, _ = ask(server, again)
        assert done.stop_reason == "end_turn"
        assert (server.violations, server.rejections) == ([], [])


def test_system_and_the_last_words_of_ours_are_cache_breakpoints() -> None:
    with FakeAnthropic([answer(text("Done."))]) as server:
        ask(server)
        body = server.requests[0].body
    assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert body["tool_choice"] == {"type": "auto"}
    assert not {"temperature", "top_p", "top_k"} & set(body)


def test_tools_off_keeps_the_tools_and_forbids_them() -> None:
    with FakeAnthropic([answer(text("Done."))]) as server:
        ask(server, replace(REQUEST, tools_off=True))
        body = server.requests[0].body
    assert body["tool_choice"] == {"type": "none"}
    assert body["tools"] == list(TOOLS)


def test_a_refusal_carries_its_explanation() -> None:
    with FakeAnthropic([refusal("Against the policy.")]) as server:
        found, _ = ask(server)
    assert (found.stop_reason, found.stop_detail) == ("refusal", "Against the policy.")


FAULTS: list[tuple[faults.Fault, type[ExternalError], str]] = [
    (faults.http_error(400), RejectedError, "400"),
    (faults.http_error(401), ModelRefusesError, "ANTHROPIC_API_KEY"),
    (faults.http_error(402), ModelRefusesError, "402"),
    (faults.http_error(403), ModelRefusesError, "403"),
    (faults.http_error(404), RejectedError, "404"),
    (faults.http_error(413), TooLongError, "413"),
    (
        faults.http_error(400, message="prompt is too long: 210000 tokens > 200000 maximum"),
        TooLongError,
        "too large",
    ),
    (faults.http_error(429, retry_after=7), RateLimitedError, "rate limit"),
    (faults.http_error(429), RateLimitedError, "rate limit"),
    (faults.http_error(500), UnavailableError, "500"),
    (faults.http_error(529), UnavailableError, "overloaded"),
    (faults.error_event("overloaded_error", after=3), UnavailableError, "overloaded"),
    (faults.error_event("api_error", after=3), UnavailableError, "failed"),
    (faults.cut(3), NetworkError, "broke off"),
    (faults.cut_in_event(3), NetworkError, "broke off"),
    (faults.end_early(3), NetworkError, "broke off"),
    (faults.reset(3), NetworkError, "broke off"),
    (faults.malformed(3), UnavailableError, "could not be read"),
]


@pytest.mark.parametrize(("fault", "error", "says"), FAULTS)
def test_every_fault_is_one_of_our_errors(
    fault: faults.Fault, error: type[ExternalError], says: str
) -> None:
    with FakeAnthropic([fault]) as server, pytest.raises(error, match=says) as caught:
        ask(server)
    assert type(caught.value) is error


def test_a_key_that_cannot_be_sent_is_not_taken_for_the_network() -> None:
    deadline = Deadline.after(ManualClock(), seconds=30)
    with FakeAnthropic([RICH]) as server, pytest.raises(ModelRefusesError) as raised:
        Claude.with_key("test-\0key", server.url).answer(REQUEST, Watched(), deadline)

    assert "a character that headers must not have" in str(raised.value)
    assert "ANTHROPIC_API_KEY" in raised.value.hint
    assert not raised.value.retryable
    assert server.requests == []


def test_a_rate_limit_says_how_long_to_wait() -> None:
    limited = faults.http_error(429, retry_after=7)
    with FakeAnthropic([limited]) as server, pytest.raises(RateLimitedError) as caught:
        ask(server)
    assert caught.value.retry_after == 7


def test_a_stream_cut_at_any_event_is_never_a_whole_answer() -> None:
    events = 0
    while True:
        broken = replace(RICH, fault=faults.end_early(events))
        with FakeAnthropic([broken]) as server:
            try:
                found, _ = ask(server)
            except NetworkError:
                events += 1
                continue
        break
    assert events > 20
    assert found.stop_reason == "tool_use"


def thinks(seconds: float) -> FakeAnthropic:
    turn = answer(thinking("Compare prices.", seconds=seconds), text("Done."))
    return FakeAnthropic([turn], ping_seconds=0.2)


@pytest.mark.long
def test_a_silence_with_pings_outlasts_the_time_for_a_dead_connection() -> None:
    deadline = Deadline.after(ManualClock(), seconds=30)
    with thinks(5) as server:  # seconds in which a busy machine sends some of its pings late
        claude = Claude.with_key("test-key", server.url, silence_seconds=3)
        found = claude.answer(REQUEST, watched := Watched(), deadline)
    assert found.stop_reason == "end_turn"
    assert watched.ticks > 6  # it was asked all the while


def test_a_connection_without_even_pings_is_dead() -> None:
    deadline = Deadline.after(ManualClock(), seconds=30)
    hanging = replace(RICH, fault=faults.hang(3))
    with FakeAnthropic([hanging]) as server, pytest.raises(UpstreamTimeoutError):
        Claude.with_key("test-key", server.url, silence_seconds=0.5).answer(
            REQUEST, Watched(), deadline
        )


def test_a_cancel_in_the_silence_is_noticed_and_ends_the_connection() -> None:
    class Cancelled(Watched):
        def tick(self) -> None:
            super().tick()
            if time.monotonic() - began > 0.5:
                raise Interrupted("cancelled")

    began, before = time.monotonic(), threading.active_count()
    deadline = Deadline.after(ManualClock(), seconds=120)
    with thinks(60) as server:
        with pytest.raises(Interrupted):
            Claude.with_key("test-key", server.url).answer(REQUEST, Cancelled(), deadline)
        assert time.monotonic() - began < 2
        until = time.monotonic() + 60
        while any(t.name == "claude-stream" for t in threading.enumerate()):
            assert time.monotonic() < until, f"{before} threads before"
            time.sleep(0.05)


def test_summaries_of_thinking_are_handed_on_apart_from_the_text() -> None:
    asked = replace(REQUEST, thinking={"type": "adaptive", "display": "summarized"})
    with thinks(0) as server:
        found, watched = ask(server, asked)
    assert ("".join(watched.thoughts), "".join(watched.texts)) == ("Compare prices.", "Done.")
    assert [block["type"] for block in found.content] == ["thinking", "text"]


def test_thinking_and_effort_are_sent_as_they_were_chosen() -> None:
    chosen = replace(REQUEST, thinking={"type": "adaptive"}, effort="medium")
    changed: list[JsonObject] = [
        *chosen.messages,
        {"role": "system", "content": [], "output_config": {"effort": "low"}},
    ]
    with FakeAnthropic([answer(text("Done."))] * 3) as server:
        ask(server)
        ask(server, chosen)
        ask(server, replace(chosen, messages=changed))
    plain, set_up, lowered = server.requests
    assert not {"thinking", "output_config"} & set(plain.body)
    assert set_up.body["thinking"] == {"type": "adaptive"}
    assert set_up.body["output_config"] == {"effort": "medium"}
    assert "anthropic-beta" not in set_up.headers
    assert lowered.headers["anthropic-beta"] == "mid-conversation-output-config-2026-07-01"
    assert server.rejections == []


def test_a_turn_of_more_than_twenty_blocks_is_read_from_the_cache() -> None:
    """A look-up goes back twenty blocks; the breakpoint before the last finds what is further back."""
    uses = [tool_use("read_research", {"path": f"{n}.md"}, call_id=f"t{n}") for n in range(30)]
    request = replace(
        REQUEST,
        system=[{"type": "text", "text": "You research. " * 300}],
        messages=[{"role": "user", "content": [{"type": "text", "text": "An idea. " * 300}]}],
    )
    with FakeAnthropic([answer(*uses), answer(text("Done."))], count=True) as server:
        first, _ = ask(server, replace(request, max_tokens=16_000))
        results: list[Block] = [
            {"type": "tool_result", "tool_use_id": f"t{n}", "content": "{}"} for n in range(30)
        ]
        grown: list[JsonObject] = [
            *request.messages,
            {"role": "assistant", "content": [*first.content]},
            {"role": "user", "content": [*results]},
        ]
        second, _ = ask(server, replace(request, messages=grown))
    assert second.usage.cache_read_tokens == first.usage.cache_write_tokens > 0
    assert second.usage.input_tokens == 0


def test_a_wait_for_the_first_byte_can_be_broken_off() -> None:
    deadline = Deadline.after(ManualClock(), seconds=60)
    with FakeAnthropic([faults.hang()]) as server, pytest.raises(Interrupted):
        Claude.with_key("test-key", server.url, grace_seconds=0).answer(
            REQUEST, Impatient(), deadline
        )


def test_a_server_that_is_not_there_is_a_network_error() -> None:
    with faults.refusing_url() as url, pytest.raises(NetworkError, match="ANTHROPIC_BASE_URL"):
        Claude.with_key("k", url).answer(
            REQUEST, Watched(), Deadline.after(ManualClock(), seconds=5)
        )


def test_what_the_watcher_raises_ends_the_call() -> None:
    class Stop(Exception):
        pass

    class Stopping(Watched):
        def tick(self) -> None:
            super().tick()
            if self.ticks == 4:
                raise Stop

    with FakeAnthropic([RICH]) as server, pytest.raises(Stop):
        Claude.with_key("k", server.url).answer(
            REQUEST, Stopping(), Deadline.after(ManualClock(), seconds=5)
        )
