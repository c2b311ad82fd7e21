"""What an exploration is doing, computed from its record and its events."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from idea_explorer.domain.events import StepFinished
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Stats, Status
from idea_explorer.domain.toolsets import ToolsetSpec
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
    progress = _EventProgress(label, exploration.request.spec)
    for event in events:
        progress.apply(json.loads(event))
    known = (exploration.run.stats, progress.stats())
    stats = max(known, key=lambda stats: (stats.steps, stats.cost_usd or 0.0))
    doing = exploration.waits_for(now) or progress.label
    return RunProgress(doing if exploration.status == "running" else label, stats)


class _EventProgress:
    """The progress according to the events."""

    def __init__(self, label: str, spec: ToolsetSpec) -> None:
        self.label = label
        self._spec = spec
        self._private_calls: set[object] = set()
        self._private_text_read = False
        self._steps: list[StepFinished] = []
        self._branches: dict[object, float] = {}  # what each has cost

    def apply(self, event: dict[str, object]) -> None:
        match event:
            case {"type": "step_finished"}:
                self._steps.append(StepFinished.model_validate(event))
                self.label = LABELS["running"]
            case {"type": "tool_call_start", "toolName": str(name), "toolCallId": call_id}:
                self.label = self._spec.labels.get(name, f"Running {name}")
                if name in self._spec.private_tools:
                    self._private_calls.add(call_id)
            case {"type": "text_delta"}:
                self.label = "Writing"
            case {"type": "thinking_delta"}:
                self.label = "Thinking"
            case {"type": "branch_started"}:
                self.label = "Researching the questions of the plan"
            case {"type": "branch_finished", "branch": number, "cost": float(cost)}:
                self._branches[number] = cost
            case {"type": "message_end"}:
                self.label = "Publishing"
            case {"type": "tool_call_end", "toolCallId": call_id} if call_id in self._private_calls:
                self._private_text_read = True
                self.label = LABELS["running"]
            case {"type": "message_start" | "tool_call_end" | "tool_call_error"}:
                self.label = LABELS["running"]

    def stats(self) -> Stats:
        """Steps count by their numbers, so that one whose event was lost still counts."""
        steps = self._steps
        costs = [step.cost for step in steps if step.cost is not None]
        spent = sum([*costs, *self._branches.values()])
        return Stats(
            steps=max((step.step for step in steps), default=0),
            usage=Usage.total(Usage(**step.usage.model_dump()) for step in steps),
            cost_usd=round(spent, 6) if steps and len(costs) == len(steps) else None,
            step_durations=tuple(step.duration_ms or 0 for step in steps),
            private_text_read=self._private_text_read,
        )
