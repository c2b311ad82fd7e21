"""The routes that start, show and steer explorations."""

from datetime import timedelta
from pathlib import Path

import pytest

from idea_explorer.api.call import MAX_BODY_BYTES
from idea_explorer.domain.errors import NetworkError
from idea_explorer.domain.events import (
    EventUsage,
    MessageEnd,
    MessageStart,
    StepFinished,
    TextDelta,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Receipt, Stats
from idea_explorer.domain.ids import ExplorationId, new_id
from tests.fakes.api import Api

SECRET = "whsec_c2VjcmV0LXZhbHVl"
USAGE = EventUsage(input_tokens=10, output_tokens=5, cache_read_tokens=2, cache_write_tokens=1)
RECEIPT = Receipt(
    code="TIMEOUT", message="Too late.", step=2, cost_usd=0.1, has_partial_text=True, resume="x"
)


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path)


class BrokenQueue:
    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        raise NetworkError("The queue could not be reached.")

    def set_aside(self, body: str, reason: str) -> None:
        raise NetworkError("The queue could not be reached.")


# Submit


def test_a_submitted_idea_is_stored_and_sent_to_the_queue(api: Api) -> None:
    reply = api.post("/explorations", {"idea": "  Urban bees  ", "mode": "exploration"})

    assert reply.status == 202
    stored = api.store.load(reply.json["id"])
    assert (stored.owner, stored.status, stored.request.idea) == ("ada", "queued", "Urban bees")
    assert reply.json["status"] == "queued"
    assert api.queue.sent == [(stored.id, 1, 0)]


def test_a_queue_that_fails_loses_nothing(tmp_path: Path) -> None:
    api = Api(tmp_path, BrokenQueue())

    reply = api.post("/explorations", {"idea": "Urban bees"})

    assert reply.status == 202
    assert api.store.load(reply.json["id"]).status == "queued"
    assert api.log.of("enqueue_failed")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "idea"),
        ({"idea": ""}, "idea"),
        ({"idea": "\ufeff \n"}, "idea"),
        ({"idea": "x" * 10_001}, "idea"),
        ({"idea": 7}, "idea"),
        ({"idea": None}, "idea"),
        ({"idea": ["bees"]}, "idea"),
        ({"idea": "bees", "toolset": "shell"}, "toolset"),
        ({"idea": "bees", "mode": "poetry"}, "mode"),
        ({"idea": "bees", "mode": "../common"}, "mode"),
        ({"idea": "bees", "model": "gpt"}, "model"),
        ({"idea": "bees", "context": "x" * 50_001}, "context"),
        ({"idea": "bees", "update": "yes"}, "update"),
        ({"idea": "bees", "continue_from": "abc"}, "continue_from"),
        ({"idea": "bees", "if_exists": "maybe"}, "if_exists"),
        ({"idea": "bees", "max_cost_usd": 0}, "max_cost_usd"),
        ({"idea": "bees", "max_cost_usd": "1"}, "max_cost_usd"),
        ({"idea": "bees", "max_cost_usd": True}, "max_cost_usd"),
        ({"idea": "bees", "max_steps": 21}, "max_steps"),
        ({"idea": "bees", "max_steps": 2.5}, "max_steps"),
        ({"idea": "bees", "deadline_seconds": 59}, "deadline_seconds"),
        ({"idea": "bees", "deadline_seconds": 841}, "deadline_seconds"),
        ({"idea": "bees", "webhook_url": "http://example.com"}, "webhook_url"),
        ({"idea": "bees", "webhook_url": "https://"}, "webhook_url"),
        ({"idea": "bees", "webhook_url": "https://a b.example"}, "webhook_url"),
        ({"idea": "bees", "webhook_url": "https://a.example:99999"}, "webhook_url"),
        ({"idea": "bees", "callback_secret": "x" * 257}, "callback_secret"),
        ({"idea": "bees", "callback_secret": "hush"}, "callback_secret"),
        ({"idea": "bees", "repository": "no-slash"}, "repository"),
        ({"idea": "bees", "ref": "-flag"}, "ref"),
        ({"idea": "bees", "files": ["f"] * 21}, "files"),
        ({"idea": "bees", "files": "f"}, "files"),
        ({"idea": "bees", "budget": 3}, "budget"),
        ([], ""),
        ("bees", ""),
        (None, ""),
    ],
)
def test_a_field_that_is_not_valid_is_named_and_nothing_is_stored(
    api: Api, body: object, field: str
) -> None:
    reply = api.post("/explorations", b"null" if body is None else body)

    assert reply.status == 422
    assert reply.error["type"] == "validation"
    assert field in reply.fields
    assert api.queued() == 0


def test_fields_that_another_toolset_has_are_named_one_by_one(api: Api) -> None:
    body = {"idea": "bees", "toolset": "assistant", "mode": "nonsense", "ref": "main"}

    reply = api.post("/explorations", {**body, "if_exists": "reuse"})

    assert reply.status == 422
    assert set(reply.fields) == {"mode", "ref", "if_exists"}
    assert api.queued() == 0


def test_update_and_continue_from_exclude_each_other(api: Api) -> None:
    body = {"idea": "bees", "update": True, "continue_from": new_id(1)}

    reply = api.post("/explorations", body)

    assert reply.status == 422
    assert reply.error["message"] == "Cannot use both 'update' and 'continue_from'."


@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"{", b"{'idea': 'x'}", b"\xff\xfe", b'{"idea": "\\ud800"}', b"[" * 5_000, b"\x00"],
)
def test_what_is_not_json_is_malformed(api: Api, body: bytes) -> None:
    reply = api.post("/explorations", body)

    assert reply.status == 400
    assert reply.error["type"] == "malformed"


def test_a_body_that_is_not_base64_is_malformed(api: Api) -> None:
    event = {"httpMethod": "POST", "path": "/explorations", "isBase64Encoded": True, "body": "%%%"}

    reply = api.send(event | {"requestContext": {"authorizer": {"owner": "ada"}}})

    assert reply.status == 400
    assert reply.error["type"] == "malformed"


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 6_000_000])
def test_a_body_that_is_too_large_is_refused(api: Api, size: int) -> None:
    reply = api.post("/explorations", b" " * size)

    assert reply.status == 413
    assert reply.error["type"] == "too_large"


def test_many_unknown_fields_are_answered_in_short(api: Api) -> None:
    fields = {f"{n}-{'x' * 500}": 1 for n in range(300)}

    reply = api.post("/explorations", {"idea": "bees", **fields})

    assert reply.status == 422
    assert len(reply.text) < 20_000


# Continue


def test_a_follow_up_belongs_to_the_conversation_of_the_first(api: Api) -> None:
    first = api.run_to(api.submitted(), "completed", stats=Stats(steps=3))

    second = api.submitted(continue_from=first.id)
    api.run_to(second, "completed", stats=Stats(steps=3))
    third = api.submitted(continue_from=second.id)

    assert third.conversation_id == first.id


def test_what_cannot_be_continued_is_said_at_once(api: Api) -> None:
    unfinished = api.submitted().id
    foreign = api.run_to(api.submitted("bob"), "completed", stats=Stats(steps=3)).id
    empty = api.run_to(api.submitted(), "failed").id
    other = api.run_to(api.submitted(toolset="discover"), "completed", stats=Stats(steps=3)).id
    before = api.queued()

    for wanted in (unfinished, foreign, empty, other, new_id(1)):
        reply = api.post("/explorations", {"idea": "More bees", "continue_from": wanted})
        assert reply.status == 422
        assert list(reply.fields) == ["continue_from"]
    assert api.queued() == before


# Idempotency-Key


def test_a_repeated_key_gets_the_first_answer_and_starts_nothing(api: Api) -> None:
    headers = {"Idempotency-Key": "k1"}

    first = api.post("/explorations", {"idea": "Urban bees"}, headers=headers)
    again = api.post("/explorations", b'{ "idea" : "Urban bees" }', headers=headers)

    assert (first.status, again.status) == (202, 202)
    assert first.json == again.json
    assert api.queued() == 1
    assert len(api.queue.sent) == 1


def test_a_key_with_another_body_is_refused(api: Api) -> None:
    headers = {"Idempotency-Key": "k1"}
    api.post("/explorations", {"idea": "Urban bees"}, headers=headers)

    reply = api.post("/explorations", {"idea": "Rural bees"}, headers=headers)

    assert reply.status == 422
    assert list(reply.fields) == ["Idempotency-Key"]
    assert api.queued() == 1


def test_a_key_is_its_owners(api: Api) -> None:
    headers = {"Idempotency-Key": "k1"}

    first = api.post("/explorations", {"idea": "Urban bees"}, headers=headers)
    other = api.post("/explorations", {"idea": "Urban bees"}, headers=headers, owner="bob")

    assert first.json["id"] != other.json["id"]


def test_a_key_whose_request_failed_is_free_again(api: Api) -> None:
    headers = {"Idempotency-Key": "k1"}
    unfinished = api.submitted()
    body = {"idea": "More bees", "continue_from": unfinished.id}
    assert api.post("/explorations", body, headers=headers).status == 422
    api.run_to(unfinished, "completed", stats=Stats(steps=1))

    assert api.post("/explorations", body, headers=headers).status == 202


@pytest.mark.parametrize("key", ["", " ", "k" * 256, "käse", "a\tb"])
def test_a_strange_key_is_refused(api: Api, key: str) -> None:
    reply = api.post("/explorations", {"idea": "bees"}, headers={"Idempotency-Key": key})

    assert reply.status == 422
    assert api.queued() == 0


# List


def test_the_list_is_the_owners_newest_first_and_paged(api: Api) -> None:
    ids = []
    for n in range(5):
        api.clock.pass_time(1)
        ids.append(api.submitted(idea=f"Idea {n}").id)
    api.submitted("bob")

    first = api.get("/explorations?limit=3").json
    second = api.get(f"/explorations?limit=3&cursor={first['cursor']}").json

    listed = [line["id"] for line in first["explorations"] + second["explorations"]]
    assert listed == ids[::-1]
    assert second["cursor"] is None


def test_the_list_can_be_narrowed(api: Api) -> None:
    api.submitted(mode="exploration")
    done = api.run_to(api.submitted(), "completed")
    music = api.submitted(toolset="discover")

    def ids(query: str) -> list[str]:
        return [line["id"] for line in api.get(f"/explorations?{query}").json["explorations"]]

    assert ids("status=completed") == [done.id]
    assert ids("toolset=discover") == [music.id]
    assert len(ids("mode=exploration&status=queued")) == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=ten", "limit"),
        ("limit=", "limit"),
        ("status=lost", "status"),
        ("toolset=shell", "toolset"),
        ("cursor=abc", "cursor"),
        ("cursor=%00%27%22", "cursor"),
        ("page=2", "page"),
        ("limit=1&limit=2", "limit"),
        ("mode=" + "m" * 41, "mode"),
    ],
)
def test_a_strange_query_is_refused_by_name(api: Api, query: str, field: str) -> None:
    reply = api.get(f"/explorations?{query}")

    assert reply.status == 422
    assert field in reply.fields


# Get


def test_a_queued_exploration_waits(api: Api) -> None:
    shown = api.get(f"/explorations/{api.submitted().id}").json

    assert (shown["status"], shown["current_step"]) == ("queued", None)
    assert (shown["steps_completed"], shown["steps_total"]) == (0, 5)
    assert shown["current_step_label"] == "Waiting to start"
    assert shown["links"]["report"] is None


def test_a_running_exploration_shows_its_step_and_its_spend(api: Api) -> None:
    running = api.run_to(api.submitted(), "running")
    start = ToolCallStart(tool_call_id="t", tool_name="web_search", input={})
    api.emit(running, MessageStart(message_id="m", conversation_id="c"))
    api.emit(running, StepFinished(step=1, usage=USAGE, cost=0.25, duration_ms=900), start)

    shown = api.get(f"/explorations/{running.id}").json

    assert (shown["current_step"], shown["steps_completed"]) == (2, 1)
    assert shown["current_step_label"] == "Searching the web"
    assert (shown["cost_usd"], shown["step_durations"]) == (0.25, [900])
    assert shown["stats"]["input_tokens"] == 10


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (MessageStart(message_id="m", conversation_id="c"), "Thinking"),
        (TextDelta(content="Bees"), "Writing"),
        (ToolCallStart(tool_call_id="t", tool_name="new_tool", input={}), "Running new_tool"),
        (MessageEnd(usage=USAGE), "Publishing"),
    ],
)
def test_the_label_says_what_is_being_done(
    api: Api, event: TextDelta | MessageStart, label: str
) -> None:
    running = api.run_to(api.submitted(), "running")
    api.emit(running, event)

    assert api.get(f"/explorations/{running.id}").json["current_step_label"] == label


def test_a_completed_exploration_has_its_links(api: Api) -> None:
    url = "https://github.com/team/ideas/blob/main/ideas/bees/research.md"
    stats = Stats(steps=2, step_durations=(700, 900), cost_usd=0.5)
    done = api.run_to(api.submitted(), "completed", stats=stats, url=url, verdict="PIVOT")

    shown = api.get(f"/explorations/{done.id}").json

    assert shown["links"]["published"] == url
    assert shown["links"]["report"].endswith(f"/explorations/{done.id}/report")
    assert (shown["verdict"], shown["cost_usd"]) == ("PIVOT", 0.5)
    assert (shown["current_step"], shown["step_durations"]) == (2, [700, 900])
    assert shown["failure"] is None


def test_one_that_ended_early_has_its_receipt(api: Api) -> None:
    partial = api.run_to(api.submitted(), "partial", receipt=RECEIPT)

    assert api.get(f"/explorations/{partial.id}").json["failure"] == RECEIPT.model_dump()


def test_links_keep_the_stage_of_the_address(api: Api) -> None:
    path = f"/explorations/{api.submitted().id}"
    request = {"path": f"/prod{path}", "stage": "prod", "authorizer": {"owner": "ada"}}

    shown = api.send({"httpMethod": "GET", "path": path, "requestContext": request}).json

    assert shown["links"]["self"] == f"/prod{path}"


def test_no_answer_and_no_log_holds_the_secret(api: Api) -> None:
    body = {"idea": "b", "webhook_url": "https://a.example/hook", "callback_secret": SECRET}
    sent = api.post("/explorations", body, headers={"Idempotency-Key": "k"})
    bad = api.post("/explorations", {**body, "max_steps": 99})
    found = [sent, bad, api.get("/explorations"), api.get(f"/explorations/{sent.json['id']}")]

    assert all(SECRET not in reply.text for reply in found)
    assert SECRET not in repr(api.log.lines)


@pytest.mark.parametrize("found", ["missing", "foreign", "strange"])
@pytest.mark.parametrize(
    ("method", "suffix"),
    [("GET", ""), ("GET", "/events"), ("GET", "/report"), ("POST", "/cancel"), ("POST", "/resume")],
)
def test_what_is_not_yours_is_not_there(api: Api, found: str, method: str, suffix: str) -> None:
    ids = {"missing": new_id(1), "foreign": api.submitted("bob").id, "strange": "a'b%20c"}

    reply = api.call(method, f"/explorations/{ids[found]}{suffix}")

    assert reply.status == 404
    assert reply.error["type"] == "not_found"


def test_a_route_that_does_not_exist_is_not_found(api: Api) -> None:
    for method, path in (
        ("POST", "/"),
        ("DELETE", "/explorations"),
        ("GET", "/explorations/a/b/c"),
    ):
        reply = api.call(method, path)
        assert reply.status == 404
        assert reply.error["type"] == "not_found"


# Report


def test_the_report_is_markdown(api: Api) -> None:
    running = api.run_to(api.submitted(), "running")
    api.store.save_report(running.id, running.lease, "# Bees\n\nGrün.")

    reply = api.get(f"/explorations/{running.id}/report")

    assert reply.status == 200
    assert reply.text == "# Bees\n\nGrün."
    assert reply.headers["content-type"] == "text/markdown; charset=utf-8"


def test_without_a_report_there_is_none(api: Api) -> None:
    reply = api.get(f"/explorations/{api.submitted().id}/report")

    assert reply.status == 404
    assert "queued and has no report" in reply.error["message"]


# Cancel


def test_a_queued_exploration_is_cancelled_at_once(api: Api) -> None:
    queued = api.submitted()

    reply = api.post(f"/explorations/{queued.id}/cancel")

    assert (reply.status, reply.json["status"]) == (202, "cancelled")
    assert reply.json["failure"]["resume"] == f"idea resume {queued.id}"
    assert [event.type for event in api.store.read(queued.id)] == ["status_changed"]


def test_a_running_exploration_is_asked_to_stop(api: Api) -> None:
    running = api.run_to(api.submitted(), "running")

    reply = api.post(f"/explorations/{running.id}/cancel")

    assert (reply.status, reply.json["status"]) == (202, "running")
    assert reply.json["cancel_requested"] is True
    api.store.save(running)  # the worker still holds its lease


def test_cancelling_twice_is_cancelling_once(api: Api) -> None:
    queued = api.submitted()
    api.post(f"/explorations/{queued.id}/cancel")

    assert api.post(f"/explorations/{queued.id}/cancel").status == 202
    assert len(api.store.read(queued.id)) == 1


def test_what_has_ended_cannot_be_cancelled(api: Api) -> None:
    done = api.run_to(api.submitted(), "completed")

    reply = api.post(f"/explorations/{done.id}/cancel")

    assert reply.status == 409
    assert reply.error["type"] == "conflict"


# Resume


@pytest.mark.parametrize("status", ["partial", "timed_out", "failed", "cancelled"])
def test_one_that_ended_early_goes_on_in_the_next_run(api: Api, status: str) -> None:
    stats = Stats(steps=4)
    ended = api.run_to(api.submitted(), status, stats=stats, receipt=RECEIPT)  # type: ignore[arg-type]
    api.store.request_cancel(ended.id)
    api.queue.sent.clear()
    api.clock.pass_time(5)

    reply = api.post(f"/explorations/{ended.id}/resume", {"max_steps": 7, "max_cost_usd": 2})

    assert reply.status == 202
    again = api.store.load(ended.id)
    assert (again.status, again.run, again.base_steps) == ("queued", 2, 4)
    assert (again.request.max_steps, again.request.max_cost_usd) == (7, 2)
    assert again.request.deadline_seconds == ended.request.deadline_seconds
    assert (again.deadline_at, again.outcome, again.receipt) == (None, None, None)
    assert again.cancel_requested is False
    assert again.stats.steps == 4
    assert api.queue.sent == [(ended.id, 2, 0)]
    assert again.updated_at - ended.updated_at == timedelta(seconds=5)


def test_a_resume_needs_no_body(api: Api) -> None:
    partial = api.run_to(api.submitted(max_steps=3), "partial")

    assert api.post(f"/explorations/{partial.id}/resume").status == 202
    assert api.store.load(partial.id).request.max_steps == 3


def test_a_report_that_only_was_not_published_is_published_not_paid_for_again(api: Api) -> None:
    failed = api.run_to(api.submitted(), "failed", outcome="completed")

    api.post(f"/explorations/{failed.id}/resume")

    assert api.store.load(failed.id).outcome == "completed"


@pytest.mark.parametrize("status", ["queued", "running", "completed"])
def test_only_what_ended_early_can_be_resumed(api: Api, status: str) -> None:
    exploration = api.submitted()
    if status != "queued":
        api.run_to(exploration, status)  # type: ignore[arg-type]

    reply = api.post(f"/explorations/{exploration.id}/resume", {})

    assert reply.status == 409
    assert api.store.load(exploration.id).run == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"max_steps": 0}, "max_steps"),
        ({"max_cost_usd": -1}, "max_cost_usd"),
        ({"deadline_seconds": 30}, "deadline_seconds"),
        ({"idea": "other"}, "idea"),
    ],
)
def test_new_limits_are_checked_too(api: Api, body: object, field: str) -> None:
    partial = api.run_to(api.submitted(), "partial")

    reply = api.post(f"/explorations/{partial.id}/resume", body)

    assert reply.status == 422
    assert field in reply.fields
    assert api.store.load(partial.id).status == "partial"
