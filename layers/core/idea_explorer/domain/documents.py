"""A research document as text: its front matter, its report, and the sections that updates add.

A document belongs to the people of its repository as soon as it is written: what they changed is
recognised by its fingerprint and never overwritten.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject

UPDATE = "## Update - "
SECTION_LEVEL = 3  # headings within an update stand below its own
MAX_FRONT_MATTER = 65_536  # an idea has at most 10,000 characters; more than this is something else
_UPDATE_HEADING = re.compile(r"^## Update - \d{4}-\d{2}-\d{2}[ \t]*\r?$", re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6})(?= )", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_TITLE_LINE = re.compile(r"\A# .+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What stands in a document. People edit it, so every value may be missing or odd."""

    matter: dict[str, str]
    body: str


def parse_document(text: str) -> Parsed:
    """Front matter and body; a document without front matter, or with a broken one, is all body."""
    import frontmatter
    import yaml

    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    end = plain.find("\n---", 3)
    if not plain.startswith("---\n") or not 0 < end < MAX_FRONT_MATTER:
        return Parsed({}, plain)
    try:
        matter, body = frontmatter.parse(plain)
    except (yaml.YAMLError, ValueError, RecursionError):
        return Parsed({}, plain)
    known = {str(key): str(value) for key, value in matter.items() if value is not None}
    return Parsed(known, body)


def document(exploration: Exploration, report: str) -> str:
    """The report under its front matter, which every value enters as data."""
    import yaml

    request = exploration.request
    matter: JsonObject = {
        "idea": request.idea,
        "mode": request.mode,
        "model": exploration.model_name,
        "date": f"{exploration.created_at:%Y-%m-%d}",
        "exploration_id": exploration.id,
        "status": exploration.run.outcome or exploration.status,
        "cost_usd": exploration.run.stats.cost_usd,
    }
    if request.continue_from:
        matter["continue_from"] = request.continue_from
    head = yaml.safe_dump(matter, sort_keys=False, allow_unicode=True, width=100)
    return f"---\n{head}---\n\n{_naming(report.strip(), exploration)}\n"


def _naming(report: str, exploration: Exploration) -> str:
    """The report with a link to the document it follows up on, which it may have forgotten to name."""
    if not exploration.request.continue_from or not exploration.builds_on:
        return report
    link = link_to(exploration.builds_on)
    if link in report:
        return report
    line = f"> Follows up on [{exploration.builds_on}]({link})."
    title = _TITLE_LINE.match(report)
    if title is None:
        return f"{line}\n\n{report}"
    return f"{title.group()}\n\n{line}\n\n{report[title.end() :].lstrip()}"


def link_to(path: str) -> str:
    """A document's path as a link from another document, which stands one folder below `ideas/`."""
    _, _, inside = path.partition("/")
    return f"../{inside}"


def fingerprint(text: str) -> str:
    """The same for the same words, however a checkout has changed the line ends."""
    plain = text.replace("\r\n", "\n").strip()
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def update_section(exploration_id: ExplorationId, on: date, report: str) -> str:
    """What an update adds. The comment says whose it is, so that a resumed run finds it again."""
    text = _UPDATE_HEADING.sub("", report, count=1) if report.startswith(UPDATE) else report
    return f"{UPDATE}{on:%Y-%m-%d}\n\n{_mark(exploration_id)}\n\n{_lowered(text.strip())}\n"


def _mark(exploration_id: ExplorationId) -> str:
    return f"<!-- exploration {exploration_id} -->"


def _lowered(text: str) -> str:
    """The text with its headings moved below the section's own; code blocks stay as they are."""
    code = [match.span() for match in _FENCE.finditer(text)]
    headings = [
        match
        for match in _HEADING.finditer(text)
        if not any(start <= match.start() < end for start, end in code)
    ]
    first = len(headings[0].group(1)) if headings else SECTION_LEVEL
    by = max(0, SECTION_LEVEL - first)
    for match in reversed(headings):
        level = min(6, max(SECTION_LEVEL, len(match.group(1)) + by))
        text = f"{text[: match.start()]}{'#' * level}{text[match.end() :]}"
    return text


@dataclass(frozen=True, slots=True)
class Updated:
    text: str
    replaced: bool
    kept_edited: bool  # an earlier section of this exploration was changed by hand and stays


def with_section(
    existing: str, section: str, exploration_id: ExplorationId, written: set[str]
) -> Updated:
    """The document with the section at its end; every byte that others wrote stays as it is.

    A section of the same exploration is replaced if it still is one of those `written` by it.
    """
    newline = "\r\n" if "\r\n" in existing else "\n"
    styled = section.replace("\n", newline)
    span = _own_section(existing, exploration_id)
    if span and fingerprint(existing[slice(*span)]) in written:
        rest = existing[span[1] :]
        gap = newline if rest else ""
        return Updated(f"{existing[: span[0]]}{styled}{gap}{rest}", True, False)
    ended = existing if existing.endswith("\n") or not existing else f"{existing}{newline}"
    return Updated(f"{ended}{newline}{styled}", False, span is not None)


def has_section(text: str, exploration_id: ExplorationId) -> bool:
    return _own_section(text, exploration_id) is not None


def without_section(existing: str, exploration_id: ExplorationId, written: set[str]) -> str | None:
    """The document as if the exploration had not added to it; None where its section was changed."""
    span = _own_section(existing, exploration_id)
    if span is None or fingerprint(existing[slice(*span)]) not in written:
        return None
    before, rest = existing[: span[0]], existing[span[1] :]
    if not rest:
        newline = "\r\n" if before.endswith("\r\n") else "\n"
        before = before.removesuffix(newline)  # which set the section apart
    return before + rest


def _own_section(text: str, exploration_id: ExplorationId) -> tuple[int, int] | None:
    starts = [match.start() for match in _UPDATE_HEADING.finditer(text)]
    for start, end in pairwise([*starts, len(text)]):
        if _mark(exploration_id) in text[start:end]:
            return start, end
    return None
