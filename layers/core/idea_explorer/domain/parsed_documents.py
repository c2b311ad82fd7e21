"""Read research documents: front matter, report, and the sections that updates add.

A child process reads them too, so this loads little.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from idea_explorer.domain.front_matter import (
    FrontMatterError,
    parse_front_matter,
    split_front_matter,
)
from idea_explorer.domain.patterns import lazy_pattern

OFFLINE: Final = "offline"  # the id that is used when no model is called
UPDATE = "## Update - "
OFFLINE_MARK = f"<!-- model {OFFLINE} -->"  # in an update; the front matter is the document's
UPDATE_HEADING = lazy_pattern(r"^## Update - \d{4}-\d{2}-\d{2}[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """People edit documents, so every value may be missing or malformed."""

    matter: dict[str, str]
    body: str
    problem: str = ""  # why the front matter was ignored; whoever reads the document logs it

    @property
    def is_offline(self) -> bool:
        """Whether only the offline model wrote it: it shows what a report looks like, and is no research. The
        front matter names the first writer; an update of any other makes it research."""
        return self.matter.get("model") == OFFLINE and not self.researched

    @property
    def researched(self) -> str:
        """The body without what the offline model wrote: it repeats other documents and judges nothing."""
        updates = list(find_updates(self.body))
        end = updates[0][0] if updates else len(self.body)
        first = "" if self.matter.get("model") == OFFLINE else self.body[:end]
        added = (self.body[start:stop] for start, stop in updates)
        return "".join([first, *(text for text in added if OFFLINE_MARK not in text)])


def parse_document(text: str) -> ParsedDocument:
    """Takes any text. Without valid front matter the whole document is body."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        block, body = split_front_matter(plain)
        return ParsedDocument({} if block is None else parse_front_matter(block), body)
    except FrontMatterError as error:
        return ParsedDocument({}, plain, str(error))


def find_updates(text: str) -> Iterator[tuple[int, int]]:
    """Where each section of an update begins and ends."""
    if UPDATE not in text:  # as in most documents; looking at the start of each line takes longer
        return iter(())
    starts = [match.start() for match in UPDATE_HEADING.finditer(text)]
    return pairwise([*starts, len(text)])
