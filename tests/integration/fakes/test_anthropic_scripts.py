"""Which turn of a script answers which request, in process and as a program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import anthropic
import httpx
import pytest

from tests.fakes import forked
from tests.fakes.anthropic_client import ask, ask_streaming, request_with, said
from tests.fakes.anthropic_faults import http_error
from tests.fakes.anthropic_scripts import ByConversation, dump_script
from tests.fakes.anthropic_server import FakeAnthropic, main
from tests.fakes.anthropic_turns import (
    Turn,
    Usage,
    answer,
    pending_web_search,
    search_result,
    text,
    tool_use,
    web_search_result,
)
from tests.fakes.anthropic_wire import JsonObject, tools_are_off

WEB_SEARCH: JsonObject = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
READ: JsonObject = {"name": "read_research", "input_schema": {"type": "object"}}


def test_each_request_takes_the_next_turn_also_side_by_side() -> None:
    script = [answer(text(f"Answer {number}")) for number in range(20)]
    with FakeAnthropic(script) as server, ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: ask_streaming(server.url, request_with()), script))
    said_words = {str(message.content[0].to_dict()["text"]) for message in answers}
    assert said_words == {f"Answer {number}" for number in range(20)}
    assert len({message.id for message in answers}) == 20


def test_a_script_that_ran_out_is_an_error_unless_its_last_turn_repeats() -> None:
    with FakeAnthropic([answer(text("Only"))]) as server:
        ask(server.url, request_with())
        with pytest.raises(anthropic.InternalServerError, match="has 1 turns, but turn 2 is due"):
            ask(server.url, request_with())
    with FakeAnthropic([answer(text("Only"))], repeat_last=True) as server:
        ask(server.url, request_with())
        assert ask(server.url, request_with()).stop_reason == "end_turn"


def test_a_model_may_be_code_that_looks_at_the_request() -> None:
    def model(request: JsonObject, index: int) -> Turn:
        if tools_are_off(request):
            return answer(text(f"Report after {index}"))
        return answer(tool_use("read_research", {"path": f"{index}.md"}))

    with FakeAnthropic(model) as server:
        assert ask(server.url, request_with(tools=[READ])).stop_reason == "tool_use"
        off = request_with(tools=[READ], tool_choice={"type": "none"})
        assert ask(server.url, off).content[0].to_dict()["text"] == "Report after 1"


def test_code_that_fails_is_a_500_that_says_why() -> None:
    def model(request: JsonObject, index: int) -> Turn:
        raise AssertionError("no context was sent")

    with FakeAnthropic(model) as server:
        with pytest.raises(anthropic.InternalServerError, match="no context was sent"):
            ask(server.url, request_with())
        assert server.rejections == [
            "The scripted model failed: AssertionError('no context was sent')"
        ]


def test_by_conversation_a_repeated_call_gets_the_same_answer_with_the_same_ids() -> None:
    script = [
        answer(tool_use("read_research", {"path": "a.md"})),
        answer(text("Report."), fault=http_error(529, times=1)),
    ]
    question = {"role": "user", "content": "Bees?"}
    with FakeAnthropic(ByConversation(script)) as server:
        first = ask(server.url, request_with(question, tools=[READ]))
        again = ask_streaming(server.url, request_with(question, tools=[READ]))
        other = ask(server.url, request_with({"role": "user", "content": "Ants?"}, tools=[READ]))
        assert said(first) == said(again) != said(other)
        call = said(first)["content"][0]["id"]
        result = {"type": "tool_result", "tool_use_id": call, "content": "{}"}
        messages = (question, said(first), {"role": "user", "content": [result]})
        with pytest.raises(anthropic.OverloadedError):
            ask(server.url, request_with(*messages, tools=[READ]))
        assert ask(server.url, request_with(*messages, tools=[READ])).stop_reason == "end_turn"
        assert server.violations == []


@pytest.mark.parametrize("joined", [True, False])
def test_by_conversation_a_paused_answer_counts_however_it_is_sent_back(joined: bool) -> None:
    script = [
        answer(pending_web_search("bees")),
        answer(web_search_result([search_result("https://a.example", "A")]), text("Found.")),
        answer(text("Goodbye.")),
    ]
    question = {"role": "user", "content": "Bees?"}
    with FakeAnthropic(ByConversation(script)) as server:
        paused = said(ask(server.url, request_with(question, tools=[WEB_SEARCH])))
        rest = said(ask(server.url, request_with(question, paused, tools=[WEB_SEARCH])))
        whole = [{"role": "assistant", "content": paused["content"] + rest["content"]}]
        answered = whole if joined else [paused, rest]
        thanks = {"role": "user", "content": "Thanks."}
        last = ask(server.url, request_with(question, *answered, thanks, tools=[WEB_SEARCH]))
        assert last.content[0].to_dict()["text"] == "Goodbye."
        assert (server.violations, server.rejections) == ([], [])


@contextmanager
def program(*arguments: str) -> Iterator[str]:
    """The fake as a program; the address it prints."""
    reading, writing = os.pipe()
    given = ("--port", "0", *arguments)
    process = forked.start(main, given, streams=[0, writing, 2], env={}, folder=Path.cwd())
    os.close(writing)
    try:
        with os.fdopen(reading) as output:
            yield output.readline().removeprefix("listening on ").strip()
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait()
    assert code == 0


def test_it_can_be_started_as_a_program() -> None:
    command = [sys.executable, "-m", "tests.fakes.anthropic_server", "--help"]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert (done.returncode, "--script" in done.stdout) == (0, True)


def test_as_a_program_it_serves_a_script_and_tells_what_happened(tmp_path: Path) -> None:
    reply = answer(text("Hello"), usage=Usage(10, 120))
    script, log = tmp_path / "script.json", tmp_path / "requests.jsonl"
    script.write_text(dump_script([http_error(529), reply]), encoding="utf-8")
    with program("--script", str(script), "--requests-log", str(log)) as url:
        with pytest.raises(anthropic.OverloadedError):
            ask(url, request_with())
        assert ask_streaming(url, request_with()).usage.output_tokens == 120
        state = httpx.get(f"{url}/fake/state").json()
    assert (state["requests"], state["rejections"], state["billed"]["output_tokens"]) == (
        2,
        [],
        120,
    )
    logged = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [entry["body"]["max_tokens"] for entry in logged] == [1000, 1000]
    assert "test-key" not in log.read_text(encoding="utf-8")


def test_as_a_program_it_takes_a_hand_written_script_and_goes_by_conversation(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"blocks": [{"type": "text", "text": "Hello"}]}]', encoding="utf-8")
    with program("--script", str(script), "--by-conversation", "--expected-key", "right") as url:
        assert ask(url, request_with(), key="right").stop_reason == "end_turn"
        assert ask(url, request_with(), key="right").stop_reason == "end_turn"
        with pytest.raises(anthropic.AuthenticationError):
            ask(url, request_with(), key="wrong")
