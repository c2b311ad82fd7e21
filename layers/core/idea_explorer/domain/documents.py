"""Write research documents: front matter, report, and the sections that updates add.

Once written, a document belongs to the people of its repository: edits show by its fingerprint and are
never overwritten.
"""

import re
from dataclasses import dataclass
from datetime import date

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.front_matter import format_front_matter
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.markdown import find_prose
from idea_explorer.domain.parsed_documents import (
    OFFLINE_MARK,
    UPDATE,
    UPDATE_HEADING,
    find_updates,
)
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.report_phrases import FOLLOWS_UP, translate
from idea_explorer.domain.text import hash_text

SECTION_LEVEL = 3  # of the highest heading within an update
_HEADING = lazy_pattern(r"^(#{1,6})(?= )", re.MULTILINE)
_TITLE_LINE = lazy_pattern(r"\A# .+$", re.MULTILINE)


def render_document(exploration: Exploration, report: str) -> str:
    """The report with its front matter."""
    request = exploration.request
    matter: dict[str, str | float | None] = {
        "idea": request.idea,
        "mode": request.mode,
        "model": exploration.model_name,
        "date": f"{exploration.created_at:%Y-%m-%d}",
        "exploration_id": exploration.id,
        "status": exploration.run.outcome or exploration.status,
        "cost_usd": exploration.run.stats.cost_usd,
    }
    if verification := exploration.run.stats.verification:
        matter["verification"] = str(verification)
    if request.continue_from:
        matter["continue_from"] = request.continue_from
    return f"---\n{format_front_matter(matter)}---\n\n{_link_parent(report.strip(), exploration)}\n"


def _link_parent(report: str, exploration: Exploration) -> str:
    """Add a link to the document that the report follows up on, unless it has one."""
    if not exploration.request.continue_from or not exploration.builds_on:
        return report
    # relative to this document, which is one folder below `ideas/`
    link = f"../{exploration.builds_on.partition('/')[2]}"
    if link in report:
        return report
    line = f"> {translate(FOLLOWS_UP, report)} [{exploration.builds_on}]({link})."
    title = _TITLE_LINE.match(report)
    if title is None:
        return f"{line}\n\n{report}"
    return f"{title.group()}\n\n{line}\n\n{report[title.end() :].lstrip()}"


def fingerprint(text: str) -> str:
    """A hash that does not depend on line ends, which a checkout may change."""
    return hash_text(text.replace("\r\n", "\n").strip())


def render_update(
    exploration_id: ExplorationId, on: date, report: str, *, is_offline: bool = False
) -> str:
    """The section that an update adds, with a comment by which a resumed run finds it."""
    text = UPDATE_HEADING.sub("", report, count=1) if report.startswith(UPDATE) else report
    mark = f"{_mark(exploration_id)}\n{OFFLINE_MARK}" if is_offline else _mark(exploration_id)
    return f"{UPDATE}{on:%Y-%m-%d}\n\n{mark}\n\n{_lower_headings(text.strip())}\n"


def _mark(exploration_id: ExplorationId) -> str:
    return f"<!-- exploration {exploration_id} -->"


def _lower_headings(text: str) -> str:
    """Move the headings below that of the section, except in code blocks."""
    headings = [
        match for start, end in find_prose(text) for match in _HEADING.finditer(text, start, end)
    ]
    first = len(headings[0].group(1)) if headings else SECTION_LEVEL
    by = max(0, SECTION_LEVEL - first)
    parts: list[str] = []
    position = 0
    for match in headings:
        level = min(6, max(SECTION_LEVEL, len(match.group(1)) + by))
        parts += [text[position : match.start()], "#" * level]
        position = match.end()
    return "".join([*parts, text[position:]])


@dataclass(frozen=True, slots=True)
class UpdatedDocument:
    text: str
    replaced: bool
    kept_edited: bool  # a person edited the earlier section of this exploration, so it stays


def add_section(
    existing: str, section: str, exploration_id: ExplorationId, written: set[str]
) -> UpdatedDocument:
    """Add a section to the end of a document, without changing a byte that others wrote. A section of the
    same exploration is replaced if its fingerprint is among those `written` by it."""
    newline = "\r\n" if "\r\n" in existing else "\n"
    styled = section.replace("\n", newline)
    span = _own_section(existing, exploration_id)
    if span and fingerprint(existing[slice(*span)]) in written:
        rest = existing[span[1] :]
        gap = newline if rest else ""
        return UpdatedDocument(f"{existing[: span[0]]}{styled}{gap}{rest}", True, False)
    base = existing if existing.endswith("\n") or not existing else f"{existing}{newline}"
    return UpdatedDocument(f"{base}{newline}{styled}", False, span is not None)


def has_section(text: str, exploration_id: ExplorationId) -> bool:
    return _own_section(text, exploration_id) is not None


def remove_section(existing: str, exploration_id: ExplorationId, written: set[str]) -> str | None:
    """Remove an exploration's section; None if a person edited it."""
    span = _own_section(existing, exploration_id)
    if span is None or fingerprint(existing[slice(*span)]) not in written:
        return None
    before, rest = existing[: span[0]], existing[span[1] :]
    if not rest:
        newline = "\r\n" if before.endswith("\r\n") else "\n"
        before = before.removesuffix(newline)  # the blank line before the section
    return before + rest


def _own_section(text: str, exploration_id: ExplorationId) -> tuple[int, int] | None:
    for start, end in find_updates(text):
        if _mark(exploration_id) in text[start:end]:
            return start, end
    return None
