"""The folders of published research, and the log in each that records which exploration wrote what."""

import json
import re
from collections.abc import Container, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain, count

from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject, dump_text, text_of
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import slug, slugs

DOCUMENT = "research.md"
LOG = "exploration-log.json"
DAY_LENGTH = len("2026-11-17-")
_DAY = lazy_pattern(r"\d{4}-\d{2}-\d{2}-")
_NUMBER = lazy_pattern(r"\d{1,6}")
_SURROGATE = lazy_pattern(r"[\ud800-\udfff]")
MAX_REWRITTEN_BYTES = 5_000_000  # an update reads the whole file, holds it and sends it again


@dataclass(frozen=True, slots=True)
class ResearchFolder:
    """The folder of one document: `ideas/YYYY-MM-DD-{slug}/`."""

    name: str

    @classmethod
    def of(cls, document: str) -> "ResearchFolder":
        return cls(document.split("/")[-2])

    @property
    def document(self) -> str:
        return f"{RESEARCH_ROOT}/{self.name}/{DOCUMENT}"

    @property
    def log(self) -> str:
        return f"{RESEARCH_ROOT}/{self.name}/{LOG}"

    @property
    def sequence(self) -> tuple[str, int]:
        """Sorts the folders of one idea from oldest to newest: by day, then by number."""
        number = re.search(r"-(\d{1,6})$", self.name[11:])
        return self.name[:10], int(number.group(1)) if number else 1


def is_document(path: str) -> bool:
    return path.startswith(f"{RESEARCH_ROOT}/") and path.endswith(f"/{DOCUMENT}")


def is_log(path: str) -> bool:
    """Whether a file is the log beside a document, which the research tools ignore."""
    return path.rpartition("/")[2] == LOG


def new_folder(exploration: Exploration, taken: set[str]) -> ResearchFolder:
    """A folder that is not taken: a second report on an idea the same day gets a number."""
    name = f"{exploration.created_at:%Y-%m-%d}-{slug(exploration.request.idea)}"
    numbered = chain([name], (f"{name}-{number}" for number in count(2)))
    return ResearchFolder(next(folder for folder in numbered if folder not in taken))


def find_folders(idea: str, names: Iterable[str]) -> list[ResearchFolder]:
    """The folders that may hold this idea, by their names, newest first."""
    wanted = set(slugs(idea))
    found = [ResearchFolder(name) for name in names if _is_named(name, wanted)]
    return sorted(found, key=lambda folder: folder.sequence, reverse=True)


def _is_named(name: str, wanted: Container[str]) -> bool:
    """Whether a folder is named after one of these, with a day before it and perhaps a number after it."""
    rest = name[DAY_LENGTH:]
    base, _, number = rest.rpartition("-")
    is_wanted = rest in wanted or (base in wanted and _NUMBER.fullmatch(number) is not None)
    return is_wanted and _DAY.match(name) is not None


def commit_message(exploration: Exploration, *, updated: bool) -> str:
    done = "updated" if updated else "complete"
    return f"idea: {slug(exploration.request.idea)} - research {done}"


def parse_log(existing: str | None) -> list[JsonObject]:
    """The entries of a log; raises ConflictError if it is not a valid log any more."""
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


def find_fingerprints(entries: Iterable[JsonObject], exploration_id: str) -> set[str] | None:
    """The fingerprints of the texts that an exploration wrote here, or None if it wrote none."""
    own = {text_of(e.get("sha256")) for e in entries if e.get("jobId") == exploration_id}
    return own or None


def list_ideas(entries: Iterable[JsonObject]) -> set[str]:
    return {idea for entry in entries if (idea := text_of(entry.get("idea")))}


def append_log_entry(
    existing: str | None,
    exploration: Exploration,
    path: str,
    now: datetime,
    *,
    sha256: str,
    note: str | None = None,
) -> str:
    """Add the entry of this run to a log, or replace it."""
    entries = parse_log(existing)
    entry = _log_entry(exploration, path, now) | {"sha256": sha256}
    if note:
        entry["note"] = note
    others = [
        e for e in entries if (e.get("jobId"), e.get("run")) != (entry["jobId"], entry["run"])
    ]
    return _dump_log([*others, entry], existing)


def remove_log_entries(existing: str, exploration_id: str) -> str | None:
    """Remove an exploration's entries from a log; None if no others are left."""
    others = [entry for entry in parse_log(existing) if entry.get("jobId") != exploration_id]
    return _dump_log(others, existing) if others else None


def _dump_log(entries: list[JsonObject], existing: str | None) -> str:
    """Uses the line ends of the existing log."""
    text = dump_text(entries, indent=2) + "\n"
    # no file can hold half of a surrogate pair as it is
    text = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text.replace("\n", "\r\n") if existing and "\r\n" in existing else text


def _log_entry(exploration: Exploration, path: str, now: datetime) -> JsonObject:
    request, stats = exploration.request, exploration.run.stats
    started = exploration.run.started_at or exploration.created_at
    finished = exploration.run.finished_at or now
    usage = stats.usage
    entry: JsonObject = {
        "jobId": exploration.id,
        "run": exploration.run.number,
        "idea": request.idea,
        "mode": request.mode,
        "depth": request.depth,
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
    if stats.verification:
        entry["verification"] = asdict(stats.verification)
    return entry
