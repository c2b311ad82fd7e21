"""Similar research, reusing it, and uploading files for a request."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.api.app import build_handler
from idea_explorer.api.gateway import build_gateway_event
from idea_explorer.domain.errors import NetworkError, UnavailableError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import ResearchIndex
from tests.fakes.api import Api
from tests.fakes.bad_documents import BAD_DOCUMENTS

DOCUMENT = """---
idea: Beehives on city rooftops
mode: business
model: sonnet
date: '2026-05-01'
exploration_id: 00000000-0001-7000-8000-000000000000
status: completed
cost_usd: 0.1
---

# Beehives on city rooftops

## Verdict

**Verdict: PIVOT**
"""
PATH = "ideas/2026-05-01-beehives-on-city-rooftops/research.md"
HOOK = {"webhook_url": "https://hooks.example/ideas", "callback_secret": "s3cret-value"}


@pytest.fixture
def known(api: Api) -> Api:
    """An API over a folder that holds a report on beehives."""
    api.document(PATH.removeprefix("ideas/"), DOCUMENT)
    return api


# Similar


def test_similar_research_is_found_without_starting_anything(known: Api) -> None:
    reply = known.post("/similar", {"idea": "Rooftop beehives for city hotels"})

    (found,) = reply.json["similar"]
    assert reply.status == 200
    assert (found["path"], found["verdict"], found["date"]) == (PATH, "PIVOT", "2026-05-01")
    assert found["idea"] == "Beehives on city rooftops"
    assert known.queued() == 0


def test_no_document_stops_a_submission(known: Api) -> None:
    for number, text in enumerate(BAD_DOCUMENTS.values()):
        known.document(f"bad{number}/research.md", text)
    body = {"idea": "Rooftop beehives for city hotels"}

    assert known.post("/similar", body).json["similar"][0]["path"] == PATH
    reply = known.post("/explorations", body)
    assert (reply.status, reply.json["similar"][0]["path"]) == (202, PATH)
    followed = {**body, "continue_from": "00000000-0001-7000-8000-000000000000"}
    assert known.post("/explorations", followed).status == 202
    reused = {"idea": "Beehives on city rooftops", "if_exists": "reuse"}
    assert known.post("/explorations", reused).json["reused"] == PATH
    assert known.log.of("documents_with_problems")


def test_what_the_offline_model_wrote_is_not_reused_where_a_model_can_be_asked(api: Api) -> None:
    api.document(PATH.removeprefix("ideas/"), DOCUMENT.replace("model: sonnet", "model: offline"))
    body = {"idea": "Beehives on city rooftops", "if_exists": "reuse"}
    assert api.post("/explorations", body).status == 202


def test_what_a_model_added_to_it_is_reused(api: Api) -> None:
    begun = DOCUMENT.replace("model: sonnet", "model: offline")
    updated = f"{begun}\n## Update - 2026-11-17\n\nHotels pay for honey.\n"
    api.document(PATH.removeprefix("ideas/"), updated)
    body = {"idea": "Beehives on city rooftops", "if_exists": "reuse"}
    assert api.post("/explorations", body).json["reused"] == PATH


def test_a_submission_is_told_what_is_similar(known: Api) -> None:
    near = known.post("/explorations", {"idea": "Rooftop beehives for city hotels"}).json
    far = known.post("/explorations", {"idea": "Submarine cable maintenance"}).json
    other = known.post("/explorations", {"idea": "Rooftop beehives", "toolset": "discover"}).json

    assert [hit["path"] for hit in near["similar"]] == [PATH]
    assert far["similar"] == []
    assert other["similar"] is None


@pytest.mark.parametrize("body", [{}, {"idea": " "}, {"idea": "x" * 10_001}, {"idea": "b", "a": 1}])
def test_a_strange_question_is_refused(api: Api, body: object) -> None:
    assert api.post("/similar", body).status == 422


def test_an_index_that_cannot_be_read_holds_nothing_up(tmp_path: Path) -> None:
    def broken() -> ResearchIndex:
        raise NetworkError("The index could not be reached.")

    api = Api(tmp_path, index=broken)

    reply = api.post("/explorations", {"idea": "Rooftop beehives"})

    assert (reply.status, reply.json["similar"]) == (202, None)
    assert api.post("/similar", {"idea": "Rooftop beehives"}).status == 503


# Reuse


def test_research_that_is_there_answers_at_once(known: Api) -> None:
    body = {"idea": "Beehives on city rooftops", "if_exists": "reuse"}

    reply = known.post("/explorations", body, headers={"Idempotency-Key": "k"})
    again = known.post("/explorations", body, headers={"Idempotency-Key": "k"})

    assert reply.status == again.status == 200
    assert reply.json == again.json
    assert reply.json.items() >= {"status": "completed", "reused": PATH}.items()
    shown = known.get(f"/explorations/{reply.json['id']}")
    assert (shown.json["status"], shown.json["cost_usd"]) == ("completed", 0.0)
    assert "PIVOT" in known.get(f"/explorations/{reply.json['id']}/report").text
    assert known.queue.sent == []


def test_a_spent_day_refuses_a_run_but_not_what_costs_nothing(known: Api) -> None:
    known.spend_the_day()
    reusable, new = "Beehives on city rooftops", "A tea room"

    replies = [
        known.post("/explorations", {"idea": idea, "if_exists": "reuse"})
        for idea in (reusable, new)
    ]

    assert [reply.status for reply in replies] == [200, 429]
    assert replies[1].error["type"] == "quota_spent"


class LostReports(SqliteStore):
    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        raise UnavailableError("The report could not be stored.")


def test_a_reuse_that_broke_off_is_made_whole_by_the_next_call(known: Api, tmp_path: Path) -> None:
    body = {"idea": "Beehives on city rooftops", "if_exists": "reuse"}
    key = {"Idempotency-Key": "k"}
    deps = replace(known.deps, reports=LostReports(tmp_path / "store.db"))
    event = build_gateway_event("POST", "/explorations", key, json.dumps(body).encode(), "ada")
    assert build_handler(deps)(event, known.context)["statusCode"] == 503

    reply = known.post("/explorations", body, headers=key)

    [stored] = known.get("/explorations").json["explorations"]
    assert (reply.status, reply.json["id"]) == (200, stored["id"])
    assert "PIVOT" in known.get(f"/explorations/{stored['id']}/report").text
    events = known.get(
        f"/explorations/{stored['id']}/events", headers={"Accept": "application/json"}
    )
    assert [event["data"]["to"] for event in events.json["events"]] == ["completed"]


def test_what_is_not_there_is_run(known: Api) -> None:
    body = {"idea": "Submarine cables", "if_exists": "reuse"}

    assert known.post("/explorations", body).status == 202


def test_whoever_asked_to_be_told_is_told_of_a_reuse(known: Api) -> None:
    body = {"idea": "Beehives on city rooftops", "if_exists": "reuse", **HOOK}

    reply = known.post("/explorations", body)

    ((url, sent, _),) = known.webhooks.posted
    assert url == HOOK["webhook_url"]
    assert json.loads(sent)["id"] == reply.json["id"]


# Files


def test_a_file_is_announced_sent_and_named(api: Api) -> None:
    reply = api.post("/files", {"name": "notes.txt", "size": 100})
    file_id = reply.json["file_id"]

    assert reply.status == 201
    assert reply.json["upload"]["url"] == f"/files/{file_id}"
    asking = {"idea": "bees", "toolset": "assistant", "files": [file_id]}
    unsent = api.post("/explorations", asking)
    assert (unsent.status, list(unsent.fields)) == (422, ["files"])
    api.uploads.store("ada", file_id, b"bees")
    assert api.submitted(toolset="assistant", files=[file_id]).request.files == (file_id,)
    foreign = api.post("/explorations", asking, owner="bob")
    assert foreign.status == 422


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "", "size": 1}, "name"),
        ({"name": "../x", "size": 1}, "name"),
        ({"name": "x" * 300, "size": 1}, "name"),
        ({"name": "x", "size": -1}, "size"),
        ({"name": "x", "size": 20 * 1024 * 1024 + 1}, "size"),
        ({"name": "x", "size": "1"}, "size"),
        ({"name": "x"}, "size"),
    ],
)
def test_a_strange_file_is_refused(api: Api, body: object, field: str) -> None:
    reply = api.post("/files", body)

    assert reply.status == 422
    assert field in reply.fields
