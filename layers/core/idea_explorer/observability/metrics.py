"""Metrics of a deployment, as lines in CloudWatch's embedded metric format.

Each line is written when its event happens, so the metrics of a killed function are not lost.
"""

import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.metrics.functions import is_metrics_disabled
from pydantic_core import to_json

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
                self._put({}, {"Steps": (MetricUnit.Count, 1.0), **_spend(event)})
            case ReportVerified():
                self._put({}, _spend(event))
            case StatusChanged() if event.to in FINAL and not self._is_branch:
                if self._started_at:  # None if it never ran
                    seconds = (self._clock.now() - self._started_at).total_seconds()
                    self._put({}, {"ExplorationDuration": (MetricUnit.Seconds, seconds)})
                self._put({"status": event.to}, {"Explorations": (MetricUnit.Count, 1)})
            case WebhookGivenUp():
                self._put({}, {"WebhooksGivenUp": (MetricUnit.Count, 1)})

    def _count_call(self, record: ToolRecord, duration_ms: int | None) -> None:
        """Anthropic runs web searches, so their duration is not known."""
        metrics = {
            "ToolCalls": (MetricUnit.Count, 1.0),
            "ToolErrors": (MetricUnit.Count, float(not record.ok)),
        }
        if duration_ms is not None:
            metrics["ToolDuration"] = (MetricUnit.Milliseconds, duration_ms)
        self._put({"tool": record.known_name}, metrics)

    def _put(
        self, dimensions: Mapping[str, str], metrics: Mapping[str, tuple[MetricUnit, float]]
    ) -> None:
        _write_line(dimensions, metrics, self._request_id)


def _spend(event: StepFinished | ReportVerified) -> dict[str, tuple[MetricUnit, float]]:
    metrics: dict[str, tuple[MetricUnit, float]] = {
        "InputTokens": (MetricUnit.Count, event.usage.input_tokens),
        "OutputTokens": (MetricUnit.Count, event.usage.output_tokens),
        "CacheReadTokens": (MetricUnit.Count, event.usage.cache_read_tokens),
    }
    if event.cost is not None:
        metrics["CostUsd"] = (MetricUnit.NoUnit, event.cost)
    return metrics


def count_sweep(
    *, waiting: int, running: int, oldest_waiting_seconds: float, request_id: str | None
) -> None:
    """The backlog, and that a sweep was made: alarms watch both."""
    _write_line(
        {},
        {
            "Sweeps": (MetricUnit.Count, 1.0),
            "WaitingExplorations": (MetricUnit.Count, waiting),
            "RunningExplorations": (MetricUnit.Count, running),
            "OldestWaitingSeconds": (MetricUnit.Seconds, oldest_waiting_seconds),
        },
        request_id,
    )


def _write_line(
    dimensions: Mapping[str, str],
    metrics: Mapping[str, tuple[MetricUnit, float]],
    request_id: str | None,
) -> None:
    """Powertools' own collecting of a line takes three times as long as the line."""
    if is_metrics_disabled():
        return
    service = os.environ.get("POWERTOOLS_SERVICE_NAME")
    metadata = {"function_request_id": request_id} if request_id else {}
    # without these Lambda takes a line for INFO, and drops it where the level in force is higher
    metadata["level"] = os.environ.get("AWS_LAMBDA_LOG_LEVEL", "INFO")
    metadata["timestamp"] = datetime.now(UTC).isoformat()
    named = {**dimensions, "service": service}
    line = _format_of(os.environ.get("POWERTOOLS_METRICS_NAMESPACE"), service).serialize_metric_set(
        metrics={
            name: {"Unit": _UNITS[unit], "Value": [float(amount)]}
            for name, (unit, amount) in metrics.items()
        },
        dimensions={name: value for name, value in named.items() if value},
        metadata=metadata,
    )
    sys.stdout.write(f"{to_json(line, inf_nan_mode='null').decode()}\n")


@cache
def _format_of(namespace: str | None, service: str | None) -> EphemeralMetrics:
    """Keeps nothing of a line: it is given all of it."""
    return EphemeralMetrics(namespace=namespace, service=service)


_UNITS = {unit: unit.value for unit in MetricUnit}  # an enumeration looks its values up each time
