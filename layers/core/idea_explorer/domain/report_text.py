"""What the text of a report says: where it begins, its title and its verdict."""

import re
from typing import Literal, TypeAlias, get_args

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import one_line, unescape_markdown

Verdict: TypeAlias = Literal["STRONG YES", "CONDITIONAL YES", "PIVOT", "PASS"]

FINDINGS = "Findings"  # the heading of what the branches of a run found
MAX_TITLE = 120
MAX_REPORT = 300_000  # characters: four answers of the most tokens; more is no report to read
_FIRST_HEADING = lazy_pattern(r"^#{1,6} \S", re.MULTILINE)
_TITLE = lazy_pattern(r"^# +(.+)$", re.MULTILINE)
# How a report in another language may name its verdict. The verdict itself is in English.
_NAMES = "verdict|verdikt|urteil|fazit|verdetto|veredicto|veredito|oordeel"
_VERDICT_SECTION = lazy_pattern(rf"^#{{1,6}} .*\b(?:{_NAMES}).*$", re.MULTILINE | re.IGNORECASE)
_VERDICT = lazy_pattern(r"\b(" + "|".join(get_args(Verdict)) + r")\b")
_VERDICT_LINE = lazy_pattern(
    rf"^(?:[^\w\n]|_){{0,8}}(?:{_NAMES})[\W_]{{1,8}}({'|'.join(get_args(Verdict))})\b",
    re.MULTILINE | re.IGNORECASE,
)


CUT = f"*The report is cut here: it has more than {MAX_REPORT:,} characters.*"


def cut_report(text: str) -> str:
    """The part of a report that is checked and published."""
    return text if len(text) <= MAX_REPORT else f"{text[:MAX_REPORT]}\n\n{CUT}"


def has_heading(text: str) -> bool:
    return _FIRST_HEADING.search(text) is not None


def strip_preamble(text: str) -> str:
    """The report from its first heading on, if it has one."""
    heading = _FIRST_HEADING.search(text)
    return text[heading.start() :].strip() if heading else text.strip()


def find_title(report: str, idea: str) -> str:
    found = _TITLE.search(report)
    return one_line(unescape_markdown(found.group(1)) if found else idea, MAX_TITLE)


def name_report(report: str, idea: str) -> str:
    """Its title. What the branches of a run found, without a report made of it, has the idea as its name."""
    title = find_title(report, idea)
    return one_line(idea, MAX_TITLE) if title == FINDINGS else title


def find_verdict(report: str) -> str | None:
    """The verdict of the business framework: from its section, or else from the line `Verdict: …`. Its words
    are in English in every language."""
    folded = report.casefold()
    if not any(name in folded for name in _NAMES.split("|")):
        return None  # most documents that people wrote have none
    sections = list(_VERDICT_SECTION.finditer(report))
    section = sections[-1].end() if sections else len(report)
    found = _VERDICT.search(report, section) or _VERDICT_LINE.search(report)
    return found.group(1).upper() if found else None
