"""The files of a published exploration: the document with its front matter, and the log beside it."""

import json
from dataclasses import dataclass
from datetime import datetime

from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.text import slug

DOCUMENT = "research.md"
LOG = "exploration-log.json"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document stands: `ideas/YYYY-MM-DD-{slug}/`."""

    folder: str

    @property
    def document(self) -> str:
        return f"{RESEARCH_ROOT}/{self.folder}/{DOCUMENT}"

    @property
    def log(self) -> str:
        return f"{RESEARCH_ROOT}/{self.folder}/{LOG}"


def new_place(exploration: Exploration, taken: set[str]) -> Place:
    """A folder of its own: the same idea on the same day stands next to the first, never in its place."""
    name = f"{exploration.created_at:%Y-%m-%d}-{slug(exploration.request.idea)}"
    number = 2
    folder = name
    while folder in taken:
        folder = f"{name}-{number}"
        number += 1
    return Place(folder)


def commit_message(exploration: Exploration) -> str:
    done = "updated" if exploration.request.update else "complete"
    return f"idea: {slug(exploration.request.idea)} - research {done}"


def document(exploration: Exploration, report: str) -> str:
    """The report under its front matter, which every value enters as data."""
    import yaml

    request = exploration.request
    matter: JsonObject = {
        "idea": request.idea,
        "mode": request.mode,
        "model": request.model,
        "date": f"{exploration.created_at:%Y-%m-%d}",
        "exploration_id": exploration.id,
        "status": exploration.outcome or exploration.status,
        "cost_usd": exploration.stats.cost_usd,
    }
    head = yaml.safe_dump(matter, sort_keys=False, allow_unicode=True, width=100)
    return f"---\n{head}---\n\n{report.strip()}\n"


def appended_log(existing: str | None, exploration: Exploration, path: str, now: datetime) -> str:
    """The log with this run's entry: added once, and replaced if it is there already."""
    entries = _parse_log(existing)
    entry = _log_entry(exploration, path, now)
    kept = [e for e in entries if (e.get("jobId"), e.get("run")) != (entry["jobId"], entry["run"])]
    return json.dumps([*kept, entry], indent=2, ensure_ascii=False) + "\n"


def _parse_log(existing: str | None) -> list[JsonObject]:
    if not existing or not existing.strip():
        return []
    try:
        entries = json.loads(existing)
    except ValueError as error:
        raise ConflictError(
            f"{LOG} is not valid JSON, so nothing was overwritten.",
            hint="Repair it and publish again.",
        ) from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConflictError(
            f"{LOG} is not an array of entries, so nothing was overwritten.",
            hint="Repair it and publish again.",
        )
    return entries


def _log_entry(exploration: Exploration, path: str, now: datetime) -> JsonObject:
    request, stats = exploration.request, exploration.stats
    started = exploration.started_at or exploration.created_at
    finished = exploration.finished_at or now
    usage = stats.usage
    return {
        "jobId": exploration.id,
        "run": exploration.run,
        "idea": request.idea,
        "mode": request.mode,
        "model": request.model,
        "context": request.context,
        "isUpdate": request.update,
        "continueFrom": request.continue_from,
        "startedAt": started.isoformat(),
        "completedAt": finished.isoformat(),
        "durationMs": round((finished - started).total_seconds() * 1_000),
        "steps": stats.steps,
        "toolCalls": [record.as_json() for record in stats.tool_calls],
        "tokens": {
            "input": usage.all_input_tokens,
            "output": usage.output_tokens,
            "total": usage.total_tokens,
        },
        "cost": stats.cost_usd,
        "outputPath": path,
    }
