"""One source of a report: its number, how it is linked to, and its line in the list."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from idea_explorer.domain.evidence import Passage
from idea_explorer.domain.sources import UNMATCHED
from idea_explorer.domain.text import escaped, one_line

NOT_FOUND = "not among what this run read or found"
_QUOTE_LENGTH = 160
_TITLE_LENGTH = 100
_UNSAFE = re.compile(r"[\s<>\[\]]")


@dataclass(slots=True)
class NumberedSource:
    """`passage` is None where nothing that was read or found matches. A source that was only named has
    no target; `title` is what the model called it."""

    number: int
    target: str
    passage: Passage | None
    title: str = ""

    def marked(self, link: str) -> str:
        return link if self.passage else f"{link} {UNMATCHED}"

    def line(self, quoted: str) -> str:
        passage = self.passage
        if passage is None:
            # an address that ends in dashes must not end a comment that was left open
            target = re.sub(r"-\Z", "%2D", self.target)
            address = f"<{target}>" if target else ""
            said = ": ".join(part for part in (self.title, address) if part)
            return f"{self.number}. {said} {UNMATCHED}: {NOT_FOUND}"
        title = escaped(one_line(passage.title or passage.source, _TITLE_LENGTH))
        age = f", {escaped(passage.age)}" if passage.age else ""
        line = f"{self.number}. [{title}]({self.target}){age} `{passage.sha256[:12]}`"
        return f"{line}: “{escaped(one_line(quoted, _QUOTE_LENGTH))}”" if quoted else line


def in_link(target: str) -> str:
    """A target as it can stand in a link."""
    if target[:4].lower() == "www.":
        target = f"https://{target}"
    if target.count("(") != target.count(")"):
        target = target.replace("(", "%28").replace(")", "%29")
    return _UNSAFE.sub(lambda found: quote(found[0]), target)
