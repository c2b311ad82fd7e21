"""Check whether a report is complete: it has the sections that its mode's prompt asks for, and a verdict.

People base decisions on complete reports, so one without its verdict must not pass. A complete report
must not be paid for twice, so any heading that names a section is enough. A report is written in the
language of its idea, headings included. The prompt lists words for the headings in a few languages; in all
others, as many sections as the framework has are enough. The verdict is in English in every language.
"""

import re
from collections.abc import Sequence

from pydantic import Field

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.languages import is_english
from idea_explorer.domain.markdown import Heading, find_headings
from idea_explorer.domain.report_text import cut_report
from idea_explorer.domain.source_lists import is_source_heading

VERDICT = "Verdict"  # the last section of a framework with verdicts


class Framework(DomainModel, frozen=True):
    """The sections of a report, each with words that its heading may contain, and the possible verdicts.
    For a section without words, any heading will do. Without sections and verdicts, every text is
    complete."""

    sections: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    verdicts: tuple[str, ...] = ()

    def missing(self, text: str) -> list[str]:
        """The names of the missing sections, and of the verdict if it is missing."""
        text = cut_report(text)
        found = find_headings(text)
        body = _drop_title(found)
        absent = [name for name in self.sections if not self._find_section(name, body, found)]
        if absent and _count_sections(body) >= len(self.sections) and not is_english(text):
            absent = []
        if self.verdicts and not self._has_verdict(text, body):
            absent = [name for name in absent if name != VERDICT]
            return [*absent, f"{VERDICT} ({' | '.join(self.verdicts)})"]
        return absent

    def _find_section(
        self, name: str, body: Sequence[Heading], found: Sequence[Heading] = ()
    ) -> Heading | None:
        words = self.sections.get(name, ())
        if not words:
            return next(iter(found), None)
        naming = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})", re.IGNORECASE)
        return next((heading for heading in body if naming.search(heading.title)), None)

    def _has_verdict(self, text: str, body: Sequence[Heading]) -> bool:
        """Whether there is a verdict in capitals, or in any case at the start of a line."""
        heading = self._find_section(VERDICT, body)
        start = heading.start if heading else 0
        verdicts = "|".join(map(re.escape, self.verdicts))
        exact = re.compile(rf"\b(?:{verdicts})\b")
        line_start = re.compile(
            rf"^[\W_]{{0,8}}(?:{VERDICT}[\W_]{{1,8}})?(?:{verdicts})\b",
            re.IGNORECASE | re.MULTILINE,
        )
        return bool(exact.search(text, start) or line_start.search(text, start))


def _drop_title(found: Sequence[Heading]) -> list[Heading]:
    """The headings without the title and that of the source list."""
    titled = [heading.level for heading in found].count(1) == 1 and found[0].level == 1
    return [h for h in found[titled:] if not is_source_heading(h.title)]


def _count_sections(body: Sequence[Heading]) -> int:
    """The number of headings on the highest level below the title."""
    levels = [heading.level for heading in body if not heading.run_in]
    return levels.count(min(levels)) if levels else 0
