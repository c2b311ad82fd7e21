"""What the roles must allow beyond a plain run. The harness refuses every call that a role does not,
and each test here ends with the check that none was refused."""

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.e2e.harness.minds import REPORT, Minds
from tests.e2e.harness.stack import Stack
from tests.e2e.test_service import NOWHERE, stored
from tests.fakes.anthropic_turns import answer, text

pytestmark = pytest.mark.slow


def submitted(client: httpx.Client, **request: Any) -> str:
    answer = client.post("/explorations", json=request)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def test_a_file_is_uploaded_checked_and_searched(stack: Stack, ada: httpx.Client) -> None:
    place = ada.post("/files", json={"name": "notes.txt", "size": 100}).json()
    upload = place["upload"]
    sent = httpx.post(upload["url"], data=upload["fields"], files={"file": b"bees"}, timeout=60)
    assert sent.is_success

    given = {"idea": "What do my notes say?", "toolset": "assistant"}
    exploration_id = submitted(ada, files=[place["file_id"]], **given)

    assert stack.wait_until_final(exploration_id).status == "completed"
    missing = ada.post("/explorations", json={**given, "files": [f"file-{'0' * 32}"]})
    assert missing.status_code == 422


def test_a_raw_message_with_a_file_that_is_not_there_is_set_aside_at_once(stack: Stack) -> None:
    body = json.dumps({"idea": "x", "toolset": "assistant", "files": [f"file-{'0' * 32}"]})

    stack.send(body)

    stack.wait(lambda: body in stack.dead_letters(), seconds=120)


def test_research_is_found_used_again_and_told_of(stack: Stack, ada: httpx.Client) -> None:
    idea = "Bees that are researched once"
    exploration_id = submitted(ada, idea=idea, webhook_url=NOWHERE)
    assert stack.wait_until_final(exploration_id).status == "completed"
    stack.wait(lambda: stack.load(exploration_id).delivery.attempts == 3)

    assert ada.post("/similar", json={"idea": idea}).status_code == 200
    again = ada.post("/explorations", json={"idea": idea, "if_exists": "reuse"})
    assert (again.status_code, again.json()["status"]) == (200, "completed")
    assert ada.post(f"/explorations/{exploration_id}/webhook").status_code == 200
    assert ada.get("/explorations?status=completed&mode=business").status_code == 200
    assert ada.get(f"/explorations/{exploration_id}/events").status_code == 200
    stack.stop_execution(exploration_id)  # which would try nowhere for a day


def test_a_run_is_cancelled_and_resumed(stack: Stack, ada: httpx.Client, minds: Minds) -> None:
    minds.about("Cancelled and resumed", answer(text("word " * 2_000), drip=0.5))
    exploration_id = submitted(ada, idea="Cancelled and resumed")
    stack.wait(lambda: minds.calls.get("Cancelled and resumed") == 1)

    assert ada.post(f"/explorations/{exploration_id}/cancel").status_code == 202
    assert stack.wait_until_final(exploration_id).status == "cancelled"
    minds.about("Cancelled and resumed", answer(text(REPORT)))
    assert ada.post(f"/explorations/{exploration_id}/resume", json={}).status_code == 202
    final = stack.wait_until_final(exploration_id)
    assert (final.status, final.run.number) == ("completed", 2)


def test_a_run_that_nothing_works_on_is_closed_by_the_sweep(stack: Stack) -> None:
    forgotten = stored(stack, "Forgotten", age=timedelta(hours=9), webhook_url=NOWHERE)
    began = forgotten.created_at
    stack.stores.explorations.take_over(forgotten.id, lambda e: e.started(at=began))

    stack.wait(lambda: stack.sweep().payload["settled"] == 1)  # when the index shows it

    stack.wait(lambda: stack.load(forgotten.id).delivery.attempts == 3)
