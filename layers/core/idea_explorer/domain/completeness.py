"""What a report lacks of its framework: the sections that a mode's prompt asks for, and a verdict.

Whoever is told that a report is whole decides by it, so one without its verdict must not pass as that.
A report that is whole must not be paid for twice either, so a section counts as there at any heading
that names it in some way. Headings of a report in another language cannot be compared with English
words: there as many sections as the framework has are enough, beside the verdict, whose words stay
English by instruction.
"""

import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.markdown import Heading, find_headings
from idea_explorer.domain.source_lists import is_source_heading

VERDICT = "Verdict"  # the section that a framework with verdicts ends in
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 20_000  # characters tell a language
# Frequent in English, and rare or unknown in what else is written with these letters.
_ENGLISH = frozenset("the and of to that with are this it be which from would they what".split())
_ENGLISH_SHARE = 0.04  # English has three times as much, also in tables and lists; others have less


class Framework(BaseModel):
    """The sections of a report, each with the words by which a heading names it, and its verdicts.

    A section without words is there as soon as there is any heading. Without sections and verdicts
    every text is whole.
    """

    model_config = ConfigDict(frozen=True)

    sections: dict[str, tuple[str, ...]] = {}
    verdicts: tuple[str, ...] = ()

    def missing(self, text: str) -> list[str]:
        """The names of the sections that the text lacks, and of the verdict; empty where it is whole."""
        found = find_headings(text)
        body = _without_title(found)
        absent = [name for name in self.sections if not self._named(name, body, found)]
        if absent and _sections(body) >= len(self.sections) and not _is_english(text):
            absent = []
        if self.verdicts and not self._has_verdict(text, body):
            absent = [name for name in absent if name != VERDICT]
            return [*absent, f"{VERDICT} ({' | '.join(self.verdicts)})"]
        return absent

    def _named(
        self, name: str, body: Sequence[Heading], found: Sequence[Heading] = ()
    ) -> Heading | None:
        """The first heading that names a section."""
        words = self.sections.get(name, ())
        if not words:
            return next(iter(found), None)
        naming = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})", re.IGNORECASE)
        return next((heading for heading in body if naming.search(heading.title)), None)

    def _has_verdict(self, text: str, body: Sequence[Heading]) -> bool:
        """A verdict as it was asked for, or in other letters where a line begins with it."""
        heading = self._named(VERDICT, body)
        start = heading.start if heading else 0
        verdicts = "|".join(map(re.escape, self.verdicts))
        as_asked = re.compile(rf"\b(?:{verdicts})\b")
        in_line = re.compile(
            rf"^[\W_]{{0,8}}(?:{VERDICT}[\W_]{{1,8}})?(?:{verdicts})\b",
            re.IGNORECASE | re.MULTILINE,
        )
        return bool(as_asked.search(text, start) or in_line.search(text, start))


def _without_title(found: Sequence[Heading]) -> list[Heading]:
    """The headings but for the title, and but for the list of sources."""
    titled = [heading.level for heading in found].count(1) == 1 and found[0].level == 1
    return [h for h in found[titled:] if not is_source_heading(h.title)]


def _sections(body: Sequence[Heading]) -> int:
    """How many headings stand on the highest level below the title."""
    levels = [heading.level for heading in body if not heading.run_in]
    return levels.count(min(levels)) if levels else 0


def _is_english(text: str) -> bool:
    words = [word.casefold() for word in _WORD.findall(text[:_SAMPLE])]
    return sum(word in _ENGLISH for word in words) >= _ENGLISH_SHARE * max(len(words), 1)
