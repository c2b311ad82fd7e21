"""How far an exploration has come, told from its record and its events."""

import json
from collections.abc import Iterable
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
DOING = {
    "web_search": "Searching the web",
    "read_research": "Reading earlier research",
    "list_research": "Looking through earlier research",
    "search_research": "Searching earlier research",
    "http_fetch": "Reading a page",
    "file_search": "Searching the files",
    "calculator": "Calculating",
    "read_file": "Reading a file",
    "list_files": "Listing files",
    "search_files": "Searching the code",
    "find_files": "Looking for files",
    "find_definition": "Looking for a definition",
    "find_importers": "Looking for importers",
    "edit_file": "Proposing an edit",
    "create_file": "Proposing a file",
    "semanticSearch": "Searching the library",
    "tidalSearch": "Searching the catalogue",
    "albumTracks": "Reading an album",
    "batchMetadata": "Looking up tracks",
    "suggestPlaylist": "Putting a playlist together",
}


@dataclass(frozen=True, slots=True)
class Progress:
    """What is being done now, and what was done and spent up to now."""

    label: str
    stats: Stats


def progress_of(exploration: Exploration, events: Iterable[str], now: datetime) -> Progress:
    """The progress of a run that goes on, from its record and the JSON of all its events; of one that
    ended, from its record. The record counts calls that broke off, too; an event may be ahead of it."""
    label = LABELS[exploration.status]
    if exploration.is_final:
        return Progress(label, exploration.run.stats)
    told = _Told(label)
    for event in events:
        told.hear(json.loads(event))
    stats = max(exploration.run.stats, told.stats(), key=lambda known: known.steps)
    doing = exploration.waits_for(now) or told.label
    return Progress(doing if exploration.status == "running" else label, stats)


class _Told:
    """What the events have told so far."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._steps: list[StepFinished] = []

    def hear(self, event: dict[str, object]) -> None:
        match event:
            case {"type": "step_finished"}:
                self._steps.append(StepFinished.model_validate(event))
                self.label = LABELS["running"]
            case {"type": "tool_call_start", "toolName": str(name)}:
                self.label = DOING.get(name, f"Running {name}")
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
        """A step whose event was lost with its worker still counts by its number."""
        steps = self._steps
        costs = [step.cost for step in steps if step.cost is not None]
        return Stats(
            steps=max((step.step for step in steps), default=0),
            usage=Usage.total(Usage(**step.usage.model_dump()) for step in steps),
            cost_usd=round(sum(costs), 6) if steps and len(costs) == len(steps) else None,
            step_durations=tuple(step.duration_ms or 0 for step in steps),
        )
