"""A question that goes on from an earlier exploration, as the model gets it."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, thinking, tool_use
from tests.fakes.command import Done, idea
from tests.fakes.served import Served

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "assistant": ("calculator", {"expression": "6 * 7"}),
    "code": ("list_files", {"path": "."}),
    "discover": ("semanticSearch", {"query": "rain"}),
}
FIRST = "# Answer\n\nThe word is PURPLE-42."
QUESTION = "And what was the word?"
NOBODYS = "01890000-0000-7000-8000-000000000000"


def script(toolset: str) -> list[Any]:
    name, given = CALLS[toolset]
    return [
        answer(thinking("Let me look."), tool_use(name, given)),
        answer(text(FIRST)),
        answer(text("# Again\n\nPURPLE-42, as I said.")),
    ]


def environment(server: FakeAnthropic) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": server.url}


def went_on(server: FakeAnthropic) -> None:
    """The third request holds all of the second, its answer, and the new question after it."""
    assert server.violations == server.rejections == []
    before, after = (server.requests[number].body for number in (1, 2))
    assert (after["system"][0]["text"], after["tools"]) == (
        before["system"][0]["text"],
        before["tools"],
    )
    assert words(after["messages"][:3]) == words(before["messages"])
    assert words(after["messages"][3:4]) == [("assistant", [{"type": "text", "text": FIRST}])]
    ((role, (asked,)),) = words(after["messages"][4:])
    assert role == "user"
    assert QUESTION in asked["text"]


def words(messages: list[Any]) -> list[Any]:
    """Messages without the marks for the cache, which move on with each request."""
    unmarked = [
        [{k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]]
        for message in messages
    ]
    return [(m["role"], content) for m, content in zip(messages, unmarked, strict=True)]


@pytest.mark.parametrize("toolset", CALLS)
def test_the_command_goes_on_from_what_was_said(toolset: str, tmp_path: Path) -> None:
    def explore(question: str, *flags: str) -> Done:
        flags = ("--toolset", toolset, "--json", *flags)
        return idea("explore", question, *flags, env=environment(server), folder=tmp_path)

    with FakeAnthropic(script(toolset), expected_key="test-key") as server:
        first = json.loads(explore("Look around.").stdout)
        second = explore(QUESTION, "--continue-from", first["id"])
    went_on(server)
    outcome = json.loads(second.stdout)
    assert outcome["content"] == "# Again\n\nPURPLE-42, as I said."
    assert outcome["stats"]["steps"] == 1
    assert outcome["stats"]["cost_usd"] < first["stats"]["cost_usd"]


@pytest.mark.parametrize("toolset", CALLS)
def test_the_api_goes_on_from_what_was_said(toolset: str, tmp_path: Path) -> None:
    with (
        FakeAnthropic(script(toolset), expected_key="test-key") as server,
        Served(tmp_path, environment(server)) as served,
        served.client() as client,
    ):
        first = ended(client, {"idea": "Look around.", "toolset": toolset})
        body = {"idea": QUESTION, "toolset": toolset, "continue_from": first["id"]}
        second = ended(client, body)
    went_on(server)
    assert second["stats"]["steps"] == 1
    assert second["continue_from"] == first["id"]


def ended(client: httpx.Client, body: dict[str, str]) -> dict[str, Any]:
    submitted = client.post("/explorations", json=body)
    assert submitted.status_code == 202, submitted.text
    for _ in range(600):
        shown: dict[str, Any] = client.get(f"/explorations/{submitted.json()['id']}").json()
        if shown["status"] not in {"queued", "running"}:
            assert shown["status"] == "completed", shown
            return shown
        time.sleep(0.05)
    raise AssertionError("it did not come to an end")


@pytest.mark.parametrize("toolset", CALLS)
def test_what_there_is_nothing_to_go_on_from_is_bad_usage(toolset: str, tmp_path: Path) -> None:
    flags = ("--toolset", toolset, "--continue-from", NOBODYS)
    done = idea("explore", QUESTION, *flags, env={}, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("idea: --continue-from: there is no such exploration.\n")
