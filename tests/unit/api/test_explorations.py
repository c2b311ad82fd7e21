"""The routes that list and show explorations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from idea_explorer.domain.branches import BranchRun
from idea_explorer.domain.events import (
    BranchFinished,
    EventUsage,
    MessageEnd,
    MessageStart,
    TextDelta,
    ToolCallStart,
)
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.playlist import add_playlist, playlist_of
from idea_explorer.domain.run import Stats
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import EventLog, NumberedEvent
from idea_explorer.usecases.read_progress import LAST_EVENTS, read_progress
from tests.fakes.api import Api
from tests.fakes.explorations import RECEIPT

SECRET = "whsec_c2VjcmV0LXZhbHVl"
USAGE = EventUsage(input_tokens=10, output_tokens=5, cache_read_tokens=2, cache_write_tokens=1)


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


def test_the_list_names_the_model_that_was_called(api: Api) -> None:
    api.run_to(api.submitted(), "completed", model_id=OFFLINE)
    api.clock.pass_time(1)
    api.run_to(api.submitted(), "completed", model_id="claude-sonnet-4-6")

    listed = api.get("/explorations").json["explorations"]

    assert [line["model"] for line in listed] == ["sonnet", "offline"]


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
    stats = Stats(steps=1, usage=Usage(input_tokens=10), cost_usd=0.25, step_durations=(900,))
    running = api.run_to(api.submitted(), "running").replace(stats=stats)
    api.store.save(running)
    api.emit(running, ToolCallStart(tool_call_id="t", tool_name="web_search", input={}))
    # what says nothing about the present does not hide it
    api.emit(running, BranchFinished(branch=1, status="completed", cost=0.25))

    shown = api.get(f"/explorations/{running.id}").json

    assert (shown["current_step"], shown["steps_completed"]) == (2, 1)
    assert shown["current_step_label"] == "Searching the web"
    assert (shown["cost_usd"], shown["step_durations"]) == (0.25, [900])
    assert shown["stats"]["input_tokens"] == 10


def test_branches_that_a_run_waits_for_count_in_what_it_has_cost(api: Api) -> None:
    costs = (0.25, 0.5, None)
    branches = [api.run_to(api.submitted(), "running") for _ in costs]
    for branch, cost in zip(branches, costs, strict=True):
        api.store.save(branch.replace(stats=Stats(cost_usd=cost)))
    awaited = tuple(BranchRun(id=branch.id, run=1, deadline_seconds=60) for branch in branches)
    running = api.run_to(api.submitted(), "running")
    api.store.save(running.replace(stats=Stats(steps=1, cost_usd=0.25), branches=awaited))

    assert api.get(f"/explorations/{running.id}").json["cost_usd"] == 1.0


class LongHistory:
    """Counts the events that are read of it."""

    def __init__(self, inner: EventLog) -> None:
        self._inner = inner
        self.read_events = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read_last(self, exploration_id: ExplorationId, *, limit: int) -> Sequence[NumberedEvent]:
        found = self._inner.read_last(exploration_id, limit=limit)
        self.read_events += len(found)
        return found

    def read(self, *_: object, **__: object) -> Sequence[NumberedEvent]:
        raise AssertionError("all of the history was read")


def test_a_long_history_is_not_read_to_say_what_goes_on(api: Api) -> None:
    running = api.run_to(api.submitted(), "running")
    api.emit(running, *(TextDelta(content="Bees") for _ in range(50)))
    history = LongHistory(api.store)
    deps = replace(api.deps, events=cast("EventLog", history))

    assert read_progress(running, deps).label == "Writing"
    assert 0 < history.read_events <= LAST_EVENTS


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


@pytest.mark.parametrize(
    ("form", "media_type", "part"),
    [
        ("m3u", "audio/x-mpegurl; charset=utf-8", "#EXTM3U"),
        ("csv", "text/csv; charset=utf-8", "position,title"),
        ("json", "application/json", '"title": "Rain"'),
    ],
)
def test_a_playlist_is_exported(api: Api, form: str, media_type: str, part: str) -> None:
    running = api.run_to(api.submitted(toolset="discover"), "running")
    track: JsonObject = {"isrc": "ZZHRR1900001", "title": "Hymn", "artist": "Lane"}
    report = add_playlist("# Rain", playlist_of({"title": "Rain", "tracks": [track]}))
    api.store.save_report(running.id, running.lease, report)

    reply = api.get(f"/explorations/{running.id}/report?format={form}")

    assert (reply.status, reply.headers["content-type"]) == (200, media_type)
    assert part in reply.text


def test_what_is_no_playlist_is_not_exported(api: Api) -> None:
    running = api.run_to(api.submitted(), "running")
    api.store.save_report(running.id, running.lease, "# Bees")
    assert api.get(f"/explorations/{running.id}/report?format=m3u").status == 404
    assert api.get(f"/explorations/{running.id}/report?format=pdf").status == 422


def test_without_a_report_there_is_none(api: Api) -> None:
    reply = api.get(f"/explorations/{api.submitted().id}/report")

    assert reply.status == 404
    assert "queued and has no report" in reply.error["message"]
