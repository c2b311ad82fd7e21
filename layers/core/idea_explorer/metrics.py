"""Metrics of a deployment: one line of CloudWatch's embedded format for each event that counts.

A line is written when its event happens, so a function that is killed has counted what it did.
"""

from collections.abc import Mapping
from datetime import datetime

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.events import Heard, StatusChanged, StepFinished, ToolCallEnd
from idea_explorer.domain.events import ToolCallError as ToolCallFailed
from idea_explorer.domain.exploration import FINAL, Exploration
from idea_explorer.domain.tools import ToolRecord

UNKNOWN_TOOL = "unknown"  # a model may make up any name; each would become a metric of its own


class MetricSink:
    """Counts what happens in one exploration. Namespace and service come from the environment."""

    def __init__(self, exploration: Exploration, clock: Clock) -> None:
        self._since: datetime | None = exploration.started_at
        self._clock = clock

    def emit(self, event: Heard) -> None:
        match event:
            case ToolCallEnd():
                _count_call(event.record, event.duration_ms)
            case ToolCallFailed():
                _count_call(event.record, event.record.duration_ms)
            case StepFinished():
                _count_step(event)
            case StatusChanged() if event.to in FINAL:
                if self._since:  # one that never ran took no time
                    took = (self._clock.now() - self._since).total_seconds()
                    _put({}, {"ExplorationDuration": (MetricUnit.Seconds, took)})
                _put({"status": event.to}, {"Explorations": (MetricUnit.Count, 1)})
            case _:
                pass


def _count_call(record: ToolRecord, duration_ms: int | None) -> None:
    """Searches run at Anthropic and have no duration that we could know."""
    tool = UNKNOWN_TOOL if record.error_type == "unknown_tool" else record.name
    counted = {
        "ToolCalls": (MetricUnit.Count, 1.0),
        "ToolErrors": (MetricUnit.Count, float(not record.ok)),
    }
    if duration_ms is not None:
        counted["ToolDuration"] = (MetricUnit.Milliseconds, duration_ms)
    _put({"tool": tool}, counted)


def _count_step(event: StepFinished) -> None:
    counted = {
        "Steps": (MetricUnit.Count, 1.0),
        "InputTokens": (MetricUnit.Count, event.usage.input_tokens),
        "OutputTokens": (MetricUnit.Count, event.usage.output_tokens),
        "CacheReadTokens": (MetricUnit.Count, event.usage.cache_read_tokens),
    }
    if event.cost is not None:
        counted["CostUsd"] = (MetricUnit.NoUnit, event.cost)
    _put({}, counted)


def _put(dimensions: Mapping[str, str], metrics: Mapping[str, tuple[MetricUnit, float]]) -> None:
    line = EphemeralMetrics()
    for name, value in dimensions.items():
        line.add_dimension(name, value)
    for name, (unit, amount) in metrics.items():
        line.add_metric(name, unit, amount)
    line.flush_metrics()
