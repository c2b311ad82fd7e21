"""What `sam local` does, without its containers: one function, one event, nothing else around.

`make sam-local` does the same in containers.
"""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness.functions import Functions
from tests.e2e.harness.runtime import Answer, Function
from tests.e2e.harness.template import ROOT, environment_of, properties
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text
from tests.fakes.reports import business

FUNCTIONS = ("api", "authorize", "dispatch", "explore", "notify", "publish")
EVENTS = ROOT / "events"
KEY = "sk-ant-a-key-for-tests"


class SamLocal:
    """Functions with the variables that `sam local` passes: those that the template declares, with the
    values of `--env-vars` or of the shell in place of the declared ones."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._functions = Functions(folder)
        for verb in FUNCTIONS:
            name = _function_of(verb)
            declared = environment_of(name)
            given = {k: v for k, v in (environment or {}).items() if k in declared}
            self._functions.add(
                Function(
                    name=name,
                    code=ROOT / "functions" / verb,
                    timeout=60,
                    memory=properties(name).get("MemorySize", 512),
                    environment={
                        **declared,
                        **given,
                        "AWS_SAM_LOCAL": "true",
                        "AWS_REGION": "us-east-1",
                        "TMPDIR": str(folder),
                    },
                    python_path=(ROOT / "layers" / "core",),
                )
            )

    def invoke(self, event: str | Mapping[str, Any], verb: str = "") -> Answer:
        """An event's file begins with the function that it is for."""
        if isinstance(event, str):
            verb = event.partition("-")[0]
            event = json.loads((EVENTS / f"{event}.json").read_text("utf-8"))
        return self._functions.invoke(_function_of(verb), event)

    def log(self, verb: str) -> str:
        return self._functions.log(_function_of(verb))

    def close(self) -> None:
        self._functions.close()


def _function_of(verb: str) -> str:
    return f"{verb.capitalize()}Function"


@pytest.fixture
def sam_local(tmp_path: Path) -> Iterator[SamLocal]:
    local = SamLocal(tmp_path)
    yield local
    local.close()


def test_a_queue_message_comes_back_with_its_report(sam_local: SamLocal, tmp_path: Path) -> None:
    reply = sam_local.invoke("explore-queue-message")

    assert reply.ok, sam_local.log("explore")
    assert reply.payload["batchItemFailures"] == []
    (result,) = reply.payload["results"]
    assert result["status"] == "completed"
    assert "beekeepers" in result["report"]
    assert result["report"] in (tmp_path / result["path"]).read_text("utf-8")


# What each event gives, alone in a container without any exploration.
ANSWERS: dict[str, dict[str, Any]] = {
    "api-health": {"statusCode": 200},
    "api-list": {"statusCode": 200},
    "api-submit": {"statusCode": 202},
    "authorize-known-token": {"principalId": "local"},
    "dispatch-queue-message": {"batchItemFailures": []},
    "dispatch-sweep": {"waiting": 0},
    "explore-queue-message": {"batchItemFailures": []},
    "explore-workflow": {"status": "completed"},
    "explore-settle": {"status": "timed_out"},
    "explore-execution-stopped": {"status": "cancelled"},
    "publish-workflow": {"status": "completed"},
    "notify-workflow": {"delivery": "none"},
}


@pytest.mark.parametrize("event", ANSWERS)
def test_an_event_runs_alone(sam_local: SamLocal, event: str) -> None:
    reply = sam_local.invoke(event)

    assert reply.ok, (reply.payload, sam_local.log(event.partition("-")[0]))
    assert reply.payload | ANSWERS[event] == reply.payload


def test_every_event_is_tried_and_every_function_has_one() -> None:
    events = {path.stem for path in EVENTS.glob("*.json")}

    assert events == {*ANSWERS, "authorize-unknown-token"}
    assert {event.partition("-")[0] for event in events} == set(FUNCTIONS)


def test_an_unknown_token_is_refused_as_api_gateway_expects(sam_local: SamLocal) -> None:
    reply = sam_local.invoke("authorize-unknown-token")

    assert not reply.ok
    assert reply.payload["errorMessage"] == "Unauthorized"


def test_a_chosen_token_takes_the_place_of_the_documented_one(tmp_path: Path) -> None:
    local = SamLocal(tmp_path, {"IDEA_API_TOKEN": "mine"})
    event = json.loads((EVENTS / "authorize-known-token.json").read_text("utf-8"))
    try:
        assert not local.invoke(event, "authorize").ok
        assert local.invoke({**event, "authorizationToken": "Bearer mine"}, "authorize").ok
    finally:
        local.close()


def test_with_a_key_claude_is_called(tmp_path: Path) -> None:
    script = [answer(text(business("Urban bees")))]
    with FakeAnthropic(script, repeat_last=True, expected_key=KEY) as claude:
        local = SamLocal(tmp_path, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": claude.url})
        try:
            reply = local.invoke("explore-queue-message")
        finally:
            local.close()

    assert reply.ok, local.log("explore")
    (result,) = reply.payload["results"]
    assert result["status"] == "completed"
    assert claude.requests
    assert claude.rejections == []
    assert KEY not in local.log("explore")


def test_what_the_local_api_accepts_is_run_by_its_own_process(sam_local: SamLocal) -> None:
    submitted = json.loads(sam_local.invoke("api-submit").payload["body"])
    path = f"/explorations/{submitted['id']}"
    listed = json.loads((EVENTS / "api-list.json").read_text("utf-8"))
    shown = {**listed, "path": path, "requestContext": {**listed["requestContext"], "path": path}}

    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        details = json.loads(sam_local.invoke(shown, "api").payload["body"])
        if details["status"] == "completed":
            break
        time.sleep(0.2)

    assert details["status"] == "completed", details
