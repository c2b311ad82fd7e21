"""Where a published exploration stands, and the log beside it that says who wrote what."""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.text import slug, slugs, with_signs_spelled

DOCUMENT = "research.md"
LOG = "exploration-log.json"
MAX_REWRITTEN_BYTES = 5_000_000  # what is added to has to be read, kept and sent again as a whole


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document stands: `ideas/YYYY-MM-DD-{slug}/`."""

    folder: str

    @classmethod
    def of(cls, document: str) -> "Place":
        return cls(document.split("/")[-2])

    @property
    def document(self) -> str:
        return f"{RESEARCH_ROOT}/{self.folder}/{DOCUMENT}"

    @property
    def log(self) -> str:
        return f"{RESEARCH_ROOT}/{self.folder}/{LOG}"


def is_document(path: str) -> bool:
    return path.startswith(f"{RESEARCH_ROOT}/") and path.endswith(f"/{DOCUMENT}")


def is_log(path: str) -> bool:
    """Whether a file is what we keep beside a document, and nothing to read for research."""
    return path.rpartition("/")[2] == LOG


def new_place(exploration: Exploration, taken: set[str]) -> Place:
    """A folder of its own: the same idea on the same day stands next to the first, never in its place."""
    name = f"{exploration.created_at:%Y-%m-%d}-{slug(exploration.request.idea)}"
    number = 2
    folder = name
    while folder in taken:
        folder = f"{name}-{number}"
        number += 1
    return Place(folder)


def places_for(idea: str, names: Iterable[str]) -> list[Place]:
    """The folders whose name says that they may hold this idea, newest first."""
    names_of_it = "|".join(re.escape(name) for name in slugs(idea))
    own = re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}-(?:{names_of_it})(-\d{{1,6}})?")
    found = [name for name in names if own.fullmatch(name)]
    return [Place(name) for name in sorted(found, key=age, reverse=True)]


def age(folder: str) -> tuple[str, int]:
    """What sorts the folders of one idea from old to new: the day, then the number."""
    number = re.search(r"-(\d{1,6})$", folder[11:])
    return folder[:10], int(number.group(1)) if number else 1


def idea_key(idea: str) -> str:
    """The same for two ideas that say the same, apart from case, spaces and punctuation. The signs of
    a word are no punctuation: C++ is not C."""
    words = " ".join(re.findall(r"\w+", with_signs_spelled(idea.casefold()))) or idea
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def commit_message(exploration: Exploration, *, updated: bool) -> str:
    done = "updated" if updated else "complete"
    return f"idea: {slug(exploration.request.idea)} - research {done}"


def parse_log(existing: str | None) -> list[JsonObject]:
    """The entries of a log; raises ConflictError where it is not one of ours any more."""
    if not existing or not existing.strip("\ufeff \t\r\n"):
        return []
    try:
        entries = json.loads(existing.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
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


def written_by(entries: Iterable[JsonObject], exploration_id: str) -> set[str] | None:
    """The fingerprints of what an exploration wrote here, or None where it never wrote."""
    own = [entry for entry in entries if entry.get("jobId") == exploration_id]
    return {text_of(entry.get("sha256")) for entry in own} if own else None


def recorded_ideas(entries: Iterable[JsonObject]) -> set[str]:
    return {idea for entry in entries if (idea := text_of(entry.get("idea")))}


def appended_log(
    existing: str | None,
    exploration: Exploration,
    path: str,
    now: datetime,
    *,
    sha256: str,
    note: str | None = None,
) -> str:
    """The log with this run's entry: added once, and replaced if it is there already."""
    entries = parse_log(existing)
    entry = _log_entry(exploration, path, now) | {"sha256": sha256}
    if note:
        entry["note"] = note
    kept = [e for e in entries if (e.get("jobId"), e.get("run")) != (entry["jobId"], entry["run"])]
    return _dumped([*kept, entry], existing)


def log_without(existing: str, exploration_id: str) -> str | None:
    """The log without an exploration's entries; None where no others are left."""
    kept = [entry for entry in parse_log(existing) if entry.get("jobId") != exploration_id]
    return _dumped(kept, existing) if kept else None


def _dumped(entries: list[JsonObject], existing: str | None) -> str:
    """The entries as a log, with the line ends that it has."""
    text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
    return text.replace("\n", "\r\n") if existing and "\r\n" in existing else text


def _log_entry(exploration: Exploration, path: str, now: datetime) -> JsonObject:
    request, stats = exploration.request, exploration.run.stats
    started = exploration.run.started_at or exploration.created_at
    finished = exploration.run.finished_at or now
    usage = stats.usage
    return {
        "jobId": exploration.id,
        "run": exploration.run.number,
        "idea": request.idea,
        "mode": request.mode,
        "model": exploration.model_name,
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
