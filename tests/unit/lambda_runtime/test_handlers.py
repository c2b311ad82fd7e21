"""Lambda's events in, and errors out under names that the workflow knows."""

import io
import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from idea_explorer.domain.deadline import TaskStart
from idea_explorer.domain.errors import (
    ConflictError,
    LeaseLostError,
    RateLimitedError,
    UnavailableError,
)
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.queue_messages import QueueMessage
from idea_explorer.lambda_runtime import handlers
from tests.e2e.harness.template import ROOT
from tests.fakes.functions import Context

ID = "019a8c3e-7c00-7000-8000-000000000001"


def event(name: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text("utf-8"))
    return parsed


@pytest.fixture(autouse=True)
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the log says; Powertools made its handler for the stream that there was at first."""
    handler = handlers._logger().registered_handler
    assert isinstance(handler, logging.StreamHandler)
    buffer = io.StringIO()
    monkeypatch.setattr(handler, "stream", buffer)  # the one before may be closed by now
    return buffer


def test_the_workflow_asks_for_a_run() -> None:
    work = handlers.work_in(event("explore-workflow"))

    assert (work.id, work.run, work.deadline_seconds, work.settle) == (ID, 1, 120, False)


@pytest.mark.parametrize(
    "entered", ["2026-11-17T09:00:00.250Z", "2026-11-17T09:00:00.250000+00:00"]
)
def test_the_workflow_says_when_it_entered_the_state_and_how_often_it_tried(entered: str) -> None:
    called = {**event("explore-workflow"), "entered_at": entered, "retries": 2}

    task = handlers.work_in(called).task

    assert task == TaskStart(datetime(2026, 11, 17, 9, 0, 0, 250_000, tzinfo=UTC), retries=2)


def test_a_workflow_of_another_release_is_understood() -> None:
    """While a release shifts traffic, an old function is called by a new workflow, and the other way
    round."""
    older = event("explore-workflow")
    newer = {**older, "entered_at": "2026-11-17T09:00:00Z", "a_field_of_tomorrow": 1}

    assert handlers.work_in(older).task is None
    assert handlers.work_in(newer).id == ID


def test_the_workflow_asks_to_settle_what_timed_out() -> None:
    work = handlers.work_in(event("explore-settle"))

    assert (work.id, work.settle, work.why) == (ID, True, "timed_out")


@pytest.mark.parametrize(
    ("error", "cause", "sentence"),
    [
        ("RetryableError", '{"errorMessage": "GitHub is down.", "trace": []}', "GitHub is down."),
        ("PublishTimedOut", "Every attempt took too long.", "Every attempt took too long."),
        ("RetryableError", "no JSON", None),
        ("InternalError", '{"errorMessage": "KeyError"}', None),
        ("Lambda.Unknown", "The cause could not be determined.", None),
    ],
)
def test_what_the_workflow_caught_is_settled_with_its_sentence_for_people(
    error: str, cause: str, sentence: str | None
) -> None:
    failure = {"Error": error, "Cause": cause}
    work = handlers.work_in({"id": ID, "run": 1, "settle": True, "failure": failure})

    assert (work.error.sentence if work.error else None) == sentence


def test_a_timeout_without_a_cause_is_settled() -> None:
    failure = {"Error": "States.Timeout"}
    caught = {"id": ID, "run": 1, "settle": True, "cause": "States.Timeout", "failure": failure}

    assert (handlers.work_in(caught).why, handlers.work_in(caught).error) == ("timed_out", None)


def test_an_execution_that_was_stopped_is_settled_by_its_name() -> None:
    work = handlers.work_in(event("explore-execution-stopped"))

    assert (work.id, work.run, work.settle, work.why) == (ID, 1, True, "stopped")
    assert work.unattended


@pytest.mark.parametrize(
    ("cause", "why"),
    [
        ("States.Timeout", "timed_out"),
        ("TIMED_OUT", "timed_out"),
        ("ABORTED", "stopped"),
        ("FAILED", "broken"),
        ("InternalError", "broken"),
    ],
)
def test_causes_have_meanings(cause: str, why: str) -> None:
    assert handlers.work_in({"id": ID, "run": 1, "settle": True, "cause": cause}).why == why


def test_messages_carry_their_receive_count() -> None:
    (message,) = handlers.messages_in(event("explore-queue-message"))

    assert message.receives == 1
    assert json.loads(message.body)["idea"] == "A subscription box for urban beekeepers"


def test_only_messages_that_failed_come_back() -> None:
    def work(message: QueueMessage) -> JsonObject:
        if message.body == "bad":
            raise ValueError(message.body)
        return {"id": message.id}

    records = [{"messageId": name, "body": body} for name, body in (("1", "good"), ("2", "bad"))]
    answer = handlers.each_message({"Records": records}, work)

    assert answer == {"results": [{"id": "1"}], "batchItemFailures": [{"itemIdentifier": "2"}]}


@pytest.mark.parametrize(
    ("raised", "seen"),
    [
        (UnavailableError("Down."), handlers.RetryableError),
        (RateLimitedError("Slow down.", retry_after=60.0), handlers.ThrottledError),
        (RateLimitedError("Slow down."), handlers.RetryableError),
        (LeaseLostError("Gone."), LeaseLostError),
        (ConflictError("No."), ConflictError),
        (ValueError("a secret idea"), handlers.InternalError),
    ],
    ids=lambda given: getattr(given, "__name__", None) or type(given).__name__,
)
def test_errors_reach_the_workflow_under_names_it_knows(
    raised: Exception, seen: type[Exception]
) -> None:
    @handlers.entry
    def handler(_: handlers.Event) -> JsonObject:
        raise raised

    with pytest.raises(seen):
        handler({}, Context())


def test_what_nobody_foresaw_is_told_by_its_kind_alone(said: io.StringIO) -> None:
    @handlers.entry
    def handler(event: handlers.Event) -> JsonObject:
        raise KeyError(event["idea"])

    with pytest.raises(handlers.InternalError) as failure:
        handler({"idea": "A secret idea"}, Context())

    assert str(failure.value) == "KeyError"
    assert failure.value.__suppress_context__
    assert "A secret idea" not in said.getvalue()


def test_every_line_names_the_exploration_once_it_is_known(said: io.StringIO) -> None:
    @handlers.entry
    def handler(_: handlers.Event) -> JsonObject:
        handlers.log().info("before")
        handlers.correlate(ID)
        handlers.log().info("after", name="read_research")
        return {}

    handler({}, Context())
    handler({}, Context())

    lines = [json.loads(line) for line in said.getvalue().splitlines()]
    assert [line.get("explorationId") for line in lines] == [None, ID, None, ID]
    assert lines[1]["name"] == "read_research"
    assert lines[1]["function_request_id"] == "a-request"
