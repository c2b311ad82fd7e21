"""Metrics of a deployment, as lines in CloudWatch's embedded metric format.

Each line is written when its event happens, so the metrics of a killed function are not lost. The lines are
those of Powertools' Metrics, as a test shows, which takes five times as long to build one.
"""

import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.events import (
    ReportVerified,
    RunEvent,
    StatusChanged,
    StepFinished,
    ToolCallEnd,
    WebhookGivenUp,
)
from idea_explorer.domain.events import ToolCallError as ToolCallFailed
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import FINAL
from idea_explorer.domain.tools import ToolRecord

# the units as CloudWatch calls them
COUNT, SECONDS, MILLISECONDS, NO_UNIT = "Count", "Seconds", "Milliseconds", "None"


class MetricSink:
    """The metrics of one exploration. Namespace and service come from the environment."""

    def __init__(
        self, exploration: Exploration, clock: Clock, request_id: str | None = None
    ) -> None:
        self._is_branch = exploration.branch_of is not None
        self._started_at: datetime | None = exploration.run.started_at
        self._clock = clock
        self._request_id = request_id

    def emit(self, event: RunEvent) -> None:
        match event:
            case ToolCallEnd():
                self._count_call(event.record, event.duration_ms)
            case ToolCallFailed():
                self._count_call(event.record, event.record.duration_ms)
            case StepFinished():
                self._put({}, {"Steps": (COUNT, 1.0), **_spend(event)})
            case ReportVerified():
                self._put({}, _spend(event))
            case StatusChanged() if event.to in FINAL and not self._is_branch:
                if self._started_at:  # None if it never ran
                    seconds = (self._clock.now() - self._started_at).total_seconds()
                    self._put({}, {"ExplorationDuration": (SECONDS, seconds)})
                self._put({"status": event.to}, {"Explorations": (COUNT, 1)})
            case WebhookGivenUp():
                self._put({}, {"WebhooksGivenUp": (COUNT, 1)})

    def _count_call(self, record: ToolRecord, duration_ms: int | None) -> None:
        """Anthropic runs web searches, so their duration is not known."""
        metrics = {
            "ToolCalls": (COUNT, 1.0),
            "ToolErrors": (COUNT, float(not record.ok)),
        }
        if duration_ms is not None:
            metrics["ToolDuration"] = (MILLISECONDS, duration_ms)
        self._put({"tool": record.known_name}, metrics)

    def _put(self, dimensions: Mapping[str, str], metrics: Mapping[str, tuple[str, float]]) -> None:
        _write_line(dimensions, metrics, self._request_id)


def _spend(event: StepFinished | ReportVerified) -> dict[str, tuple[str, float]]:
    metrics: dict[str, tuple[str, float]] = {
        "InputTokens": (COUNT, event.usage.input_tokens),
        "OutputTokens": (COUNT, event.usage.output_tokens),
        "CacheReadTokens": (COUNT, event.usage.cache_read_tokens),
    }
    if event.cost is not None:
        metrics["CostUsd"] = (NO_UNIT, event.cost)
    return metrics


def count_sweep(
    *, waiting: int, running: int, oldest_waiting_seconds: float, request_id: str | None
) -> None:
    """The backlog, and that a sweep was made: alarms watch both."""
    _write_line(
        {},
        {
            "Sweeps": (COUNT, 1.0),
            "WaitingExplorations": (COUNT, waiting),
            "RunningExplorations": (COUNT, running),
            "OldestWaitingSeconds": (SECONDS, oldest_waiting_seconds),
        },
        request_id,
    )


def _write_line(
    dimensions: Mapping[str, str],
    metrics: Mapping[str, tuple[str, float]],
    request_id: str | None,
) -> None:
    now = datetime.now(UTC)
    service = os.environ.get("POWERTOOLS_SERVICE_NAME")
    named = {**dimensions, **({"service": service} if service else {})}
    declared = {
        "Namespace": os.environ["POWERTOOLS_METRICS_NAMESPACE"],
        "Dimensions": [[*named]],
        "Metrics": [{"Name": name, "Unit": unit} for name, (unit, _) in metrics.items()],
    }
    line = {
        "_aws": {"Timestamp": int(now.timestamp() * 1_000), "CloudWatchMetrics": [declared]},
        **named,
        **({"function_request_id": request_id} if request_id else {}),
        # without these Lambda takes a line for INFO, and drops it where the level in force is higher
        "level": os.environ.get("AWS_LAMBDA_LOG_LEVEL", "INFO"),
        "timestamp": now.isoformat(),
        **{name: [float(amount)] for name, (_, amount) in metrics.items()},
    }
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
