"""Each event that counts becomes one line of CloudWatch's embedded metric format."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from idea_explorer.domain.events import (
    EventUsage,
    ReportVerified,
    RunEvent,
    StatusChanged,
    StepFinished,
    TextDelta,
    ToolCallEnd,
    ToolCallError,
    WebhookGivenUp,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.tools import ToolRecord
from idea_explorer.observability.metrics import MetricSink
from tests.fakes.clock import START, ManualClock

USAGE = EventUsage(input_tokens=10, output_tokens=5, cache_read_tokens=3, cache_write_tokens=1)


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "a-stack")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "idea-explorer")


def lines_for(capsys: pytest.CaptureFixture[str], *events: RunEvent) -> list[dict[str, Any]]:
    clock = ManualClock()
    clock.pass_time(90)
    exploration = Exploration(
        id=ExplorationId("x"),
        owner="ada",
        request=ExploreRequest(idea="An idea"),
        conversation_id=ExplorationId("x"),
        created_at=START - timedelta(hours=1),
        updated_at=START,
        started_at=START,
    )
    sink = MetricSink(exploration, clock)
    for event in events:
        sink.emit(event)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def dimensions_of(line: dict[str, Any]) -> dict[str, str]:
    (declared,) = line["_aws"]["CloudWatchMetrics"]
    assert declared["Namespace"] == "a-stack"
    return {name: line[name] for name in declared["Dimensions"][0]}


def values_of(line: dict[str, Any]) -> dict[str, float]:
    (declared,) = line["_aws"]["CloudWatchMetrics"]
    return {metric["Name"]: line[metric["Name"]][0] for metric in declared["Metrics"]}


def test_a_tool_call_is_counted_by_tool(capsys: pytest.CaptureFixture[str]) -> None:
    record = ToolRecord(name="read_research", duration_ms=12, ok=True)
    (line,) = lines_for(
        capsys, ToolCallEnd(tool_call_id="t", summary="", duration_ms=12, record=record)
    )

    assert dimensions_of(line) == {"tool": "read_research", "service": "idea-explorer"}
    assert values_of(line) == {"ToolCalls": 1, "ToolErrors": 0, "ToolDuration": 12}


def test_a_search_has_no_duration_that_we_could_know(capsys: pytest.CaptureFixture[str]) -> None:
    record = ToolRecord(name="web_search", duration_ms=0, ok=True)
    (line,) = lines_for(capsys, ToolCallEnd(tool_call_id="t", summary="", record=record))

    assert values_of(line) == {"ToolCalls": 1, "ToolErrors": 0}


@pytest.mark.parametrize(
    ("name", "error_type", "counted_as"),
    [("read_research", "file_not_found", "read_research"), ("made_up", "unknown_tool", "unknown")],
)
def test_a_failed_call_is_an_error_and_a_made_up_name_no_metric(
    capsys: pytest.CaptureFixture[str], name: str, error_type: str, counted_as: str
) -> None:
    record = ToolRecord(name=name, duration_ms=3, ok=False, error_type=error_type)
    failed = ToolCallError(
        tool_call_id="t", error="", retryable=False, was_retried=False, record=record
    )
    (line,) = lines_for(capsys, failed)

    assert dimensions_of(line)["tool"] == counted_as
    assert values_of(line)["ToolErrors"] == 1


def test_a_step_counts_its_tokens_and_its_price(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = lines_for(capsys, StepFinished(step=1, usage=USAGE, cost=0.25))

    assert dimensions_of(line) == {"service": "idea-explorer"}
    assert values_of(line) == {
        "Steps": 1,
        "InputTokens": 10,
        "OutputTokens": 5,
        "CacheReadTokens": 3,
        "CostUsd": 0.25,
    }


def test_a_verification_counts_with_its_tokens_and_cost_but_is_no_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (line,) = lines_for(capsys, ReportVerified(usage=USAGE, cost=0.01))

    spent = {"InputTokens": 10, "OutputTokens": 5, "CacheReadTokens": 3, "CostUsd": 0.01}
    assert values_of(line) == spent


def test_a_price_that_is_not_known_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = lines_for(capsys, StepFinished(step=1, usage=USAGE, cost=None))

    assert "CostUsd" not in values_of(line)


def test_the_end_is_counted_by_status_and_timed(capsys: pytest.CaptureFixture[str]) -> None:
    took, ended = lines_for(capsys, StatusChanged(from_="running", to="partial"))

    assert values_of(took) == {"ExplorationDuration": 90}
    assert dimensions_of(ended) == {"status": "partial", "service": "idea-explorer"}
    assert values_of(ended) == {"Explorations": 1}


def test_a_webhook_that_is_given_up_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = lines_for(capsys, WebhookGivenUp(error="The server answered 500."))

    assert dimensions_of(line) == {"service": "idea-explorer"}
    assert values_of(line) == {"WebhooksGivenUp": 1}


@pytest.mark.parametrize("level", ["INFO", "WARN", "ERROR"])
def test_lambda_drops_no_metric_whatever_level_is_in_force(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    """A line without a level, or without a time in RFC 3339, would count as INFO."""
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", level)

    (line,) = lines_for(capsys, WebhookGivenUp(error=""))

    assert line["level"] == level
    assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None
    assert "T" in line["timestamp"]


def test_nothing_else_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    going_on = StatusChanged(from_="queued", to="running")

    assert lines_for(capsys, going_on, TextDelta(content="words")) == []


def test_a_line_is_what_powertools_would_write(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POWERTOOLS_SERVICE_NAME")
    own = EphemeralMetrics(namespace="a-stack")
    own.add_metric("Steps", MetricUnit.Count, 1)
    for name, amount in (("InputTokens", 10), ("OutputTokens", 5), ("CacheReadTokens", 3)):
        own.add_metric(name, MetricUnit.Count, amount)
    own.flush_metrics()
    theirs = json.loads(capsys.readouterr().out)

    (line,) = lines_for(capsys, StepFinished(step=1, usage=USAGE, cost=None))

    del line["level"], line["timestamp"], line["_aws"]["Timestamp"], theirs["_aws"]["Timestamp"]
    assert line == theirs
