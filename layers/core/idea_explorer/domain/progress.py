"""The progress of an exploration, from its record and its events."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from idea_explorer.domain.events import StepFinished
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Stats, Status
from idea_explorer.domain.usage import Usage

LABELS: dict[Status, str] = {
    "queued": "Waiting to start",
    "running": "Thinking",
    "awaiting_approval": "Waiting for approval",
    "completed": "Completed",
    "partial": "Ended early with a partial report",
    "failed": "Failed",
    "timed_out": "Timed out",
    "cancelled": "Cancelled",
}


@dataclass(frozen=True, slots=True)
class RunProgress:
    """What an exploration is doing now, and what it has done and spent so far."""

    label: str
    stats: Stats


def progress_of(exploration: Exploration, events: Iterable[str], now: datetime) -> RunProgress:
    """For a run in progress, from its record and the JSON of all its events, which may be ahead of the
    record; for one that has ended, from its record, which also counts interrupted calls."""
    label = LABELS[exploration.status]
    if exploration.is_final:
        return RunProgress(label, exploration.run.stats)
    told = _Told(label, exploration.request.spec.labels)
    for event in events:
        told.hear(json.loads(event))
    stats = max(exploration.run.stats, told.stats(), key=lambda known: known.steps)
    doing = exploration.waits_for(now) or told.label
    return RunProgress(doing if exploration.status == "running" else label, stats)


class _Told:
    """The progress according to the events."""

    def __init__(self, label: str, tool_labels: Mapping[str, str]) -> None:
        self.label = label
        self._tool_labels = tool_labels
        self._steps: list[StepFinished] = []

    def hear(self, event: dict[str, object]) -> None:
        match event:
            case {"type": "step_finished"}:
                self._steps.append(StepFinished.model_validate(event))
                self.label = LABELS["running"]
            case {"type": "tool_call_start", "toolName": str(name)}:
                self.label = self._tool_labels.get(name, f"Running {name}")
            case {"type": "text_delta"}:
                self.label = "Writing"
            case {"type": "thinking_delta"}:
                self.label = "Thinking"
            case {"type": "message_end"}:
                self.label = "Publishing"
            case {"type": "message_start" | "tool_call_end" | "tool_call_error"}:
                self.label = LABELS["running"]
            case _:
                pass

    def stats(self) -> Stats:
        """Steps count by their numbers, so that one whose event was lost still counts."""
        steps = self._steps
        costs = [step.cost for step in steps if step.cost is not None]
        return Stats(
            steps=max((step.step for step in steps), default=0),
            usage=Usage.total(Usage(**step.usage.model_dump()) for step in steps),
            cost_usd=round(sum(costs), 6) if steps and len(costs) == len(steps) else None,
            step_durations=tuple(step.duration_ms or 0 for step in steps),
        )
