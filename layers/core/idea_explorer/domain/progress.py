"""What an exploration is doing, computed from its record and its last events."""

import json
from collections.abc import Sequence
from datetime import datetime

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Stats, Status
from idea_explorer.domain.toolsets import ToolsetSpec

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


def progress_of(
    exploration: Exploration,
    last_events: Sequence[str],
    now: datetime,
    branches: Sequence[Stats] = (),
) -> RunProgress:
    """The record is saved with every step; what goes on within one is in the JSON of the last events.
    `branches` are those that the run waits for: its record has their cost only when it continues."""
    stats = exploration.run.stats
    costs = [branch.cost_usd for branch in branches if branch.cost_usd]
    if costs and stats.cost_usd is not None:
        stats = stats.model_copy(update={"cost_usd": round(stats.cost_usd + sum(costs), 6)})
    label = LABELS[exploration.status]
    if exploration.status == "running":
        label = exploration.waits_for(now) or _find_label(last_events, exploration.request.spec)
    return RunProgress(label, stats)


def _find_label(last_events: Sequence[str], spec: ToolsetSpec) -> str:
    """By the newest event that says what is going on."""
    labels = (_label_of(json.loads(event), spec) for event in reversed(last_events))
    return next(filter(None, labels), LABELS["running"])


def _label_of(event: dict[str, object], spec: ToolsetSpec) -> str | None:
    match event:
        case {"type": "tool_call_start", "toolName": str(name)}:
            return spec.labels.get(name, f"Running {name}")
        case {"type": "text_delta"}:
            return "Writing"
        case {"type": "branch_started"}:
            return "Researching the questions of the plan"
        case {"type": "message_end"}:
            return "Publishing"
        case {
            "type": "step_finished"
            | "thinking_delta"
            | "message_start"
            | "tool_call_end"
            | "tool_call_error"
        }:
            return LABELS["running"]
        case _:
            return None
