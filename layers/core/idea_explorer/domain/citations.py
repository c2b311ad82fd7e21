"""Checking a report's citations against the evidence, and listing its sources.

Every link in the report is a claim that a source was read or found in this run, and so is every entry of
a list of sources that the model wrote. What matches nothing in the ledger is marked before the report
is stored, so nobody has to take it on trust; what matches is numbered in the one list that the report
ends in. What comes out can be checked again and stays as it is.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from idea_explorer.domain.evidence import Passage
from idea_explorer.domain.links import Link, find_definitions, find_links
from idea_explorer.domain.markdown import Span, close_code, find_headings, find_prose
from idea_explorer.domain.source_lists import ListedSource, SourceList, find_source_lists
from idea_explorer.domain.sources import (
    NOT_FOUND,
    UNMATCHED,
    Ledger,
    NumberedSource,
    collect_quotes,
    escape_target,
    is_citation,
)
from idea_explorer.domain.text import one_line

__all__ = ["UNMATCHED", "CheckedReport", "check_citations", "collect_quotes"]

HEADING = "## Sources"
# What a strange text becomes may read in another way than before, so it is checked until it stays.
ROUNDS = 4
MAX_REPEATED = 300_000  # characters, more than a report has
_TITLE_LENGTH = 200
_MARKS = re.compile(rf"(?:[ \t]*{UNMATCHED}(?![^\W_]|: {NOT_FOUND}))+")
_OWN = re.compile(rf"`[0-9a-f]{{12}}`(?:: “|[ \t\r]*\n?\Z)|{UNMATCHED}: {NOT_FOUND}\s*\Z")
_NUMBER = re.compile(r"\[?\d{1,3}\]?\Z")
_ANGLED = re.compile(rf"<([^<>\n]+)>(?= {UNMATCHED})")
_FILE = re.compile(r"[\w][\w./-]{0,200}\.md\b")
_ENDS_WORD = " \t\r\n.,;!?)"
_STEERING = re.compile(r"[`~]+|<!-+|-+>+")  # what would begin or end code or a comment
_AROUND = " \t\r\n-–—:,.;()<>|"


@dataclass(frozen=True, slots=True)
class CheckedReport:
    text: str
    citations: int
    unmatched: int


def check_citations(
    report: str,
    evidence: Sequence[Passage],
    quotes: dict[str, str] | None = None,
    *,
    page: str | None = None,
    given: Sequence[str] = (),
) -> CheckedReport:
    """Number the sources, mark what matches nothing, and end the report with the list.

    `page` is where the team's repository is on the web: an address below it means the file. `given` is
    what the person wrote who asked.
    """
    ledger = Ledger(evidence, page, given)
    checked = _Check(report, ledger, quotes or {}).checked()
    for _ in range(ROUNDS if len(report) <= MAX_REPEATED else 0):
        again = _Check(checked.text, ledger, quotes or {}).checked()
        if again == checked:
            break
        checked = again
    return checked


class _Check:
    """One report in the making: what it points at, and the sources that this comes to."""

    def __init__(self, text: str, ledger: Ledger, quotes: dict[str, str]) -> None:
        self.text = text
        self.ledger = ledger
        self.quotes = quotes
        prose = find_prose(text)
        self.defined = find_definitions(text, prose)
        self.links = find_links(text, prose, self.defined)
        self.lists = find_source_lists(text, find_headings(text), prose, self.links, self.defined)
        self.starts = [listed.start for listed in self.lists]
        self.targets = {d.name: d.target for d in reversed(self.defined) if not d.is_note}
        self.names = [{} if _is_own(text, listed) else self._named(listed) for listed in self.lists]
        self.all_names = {name: e for names in reversed(self.names) for name, e in names.items()}
        own = [listed for listed in self.lists if _is_own(text, listed)]
        self.own_names = {name: e for listed in own for name, e in listed.named().items()}
        self.is_numbered = any(name.isdigit() for name in self.all_names)
        self.invented_notes = self._invented_notes()
        self.sources: dict[str, NumberedSource] = {}
        self.citations = 0
        self.unmatched = 0

    def checked(self) -> CheckedReport:
        whole = _joined([self._rendered(span) for span in self._outside()])
        kept = [self._rendered(span) for listed in self.lists for span in listed.kept]
        for listed in self.lists:
            for entry in listed.entries:
                self._merge(entry)
        if not self.sources:
            return CheckedReport(self.text, self.citations, self.unmatched)
        lines = "\n".join(s.line(self.quotes.get(key, "")) for key, s in self.sources.items())
        parts = [
            close_code(whole),
            HEADING,
            *(close_code(text.strip("\n")) for text in kept),
            lines,
        ]
        text = "\n\n".join(part for part in parts if part)
        return CheckedReport(text, self.citations, self.unmatched)

    def _named(self, listed: SourceList) -> dict[str, ListedSource]:
        """The entries by the names that the text calls them, but for those that say nothing."""
        named = listed.named().items()
        return {name: entry for name, entry in named if self._words(entry) or self._targets(entry)}

    def _outside(self) -> list[Span]:
        """The text but for its lists of sources."""
        edges = [0, *(edge for found in self.lists for edge in (found.start, found.end))]
        return list(zip(edges[::2], [*edges[1::2], len(self.text)], strict=True))

    def _rendered(self, span: Span) -> str:
        parts: list[str] = []
        position, end = span
        first = bisect_left(self.links, position, key=_start)
        last = bisect_left(self.links, end, key=_start)
        for link in self.links[first:last]:
            told = self._told(link)
            if told is None or link.start < position:
                continue
            parts += [self.text[position : link.start], told]
            marks = _MARKS.match(self.text, link.end, end)
            position = marks.end() if marks else link.end
            following = self.text[position : position + 1]
            is_marked = told.endswith(UNMATCHED)
            if following.isalnum() if is_marked else marks and following not in _ENDS_WORD:
                parts.append(" ")  # else what follows would become part of the mark or the address
        return "".join([*parts, self.text[position:end]])

    def _told(self, link: Link) -> str | None:
        """A link as the report shall have it, with its mark; None where it stays as it is."""
        match link.form:
            case "number":
                return self._told_numbers(link)
            case "note":
                return self._told_note(link)
            case "reference":
                target = self.targets[link.target]
                return self._told_link(link, target) if is_citation(target) else None
            case "address" if self._is_repeated(link.target):
                return None
            case _:
                return self._told_link(link, link.target) if is_citation(link.target) else None

    def _is_repeated(self, target: str) -> bool:
        """Whether an address is repeated from what was read or asked, and was not read itself."""
        key = self.ledger.key(target)
        return self.ledger.find(key) is None and self.ledger.mentions(key)

    def _told_link(self, link: Link, target: str) -> str:
        source = self._cite(target)
        shown = self.text[link.start : link.end]
        if link.form in {"inline", "reference"} and _NUMBER.match(link.label):
            shown = f"[[{source.number}]]({self._address(target)})"
        elif link.form == "inline" and self._address(target) != escape_target(target):
            before, after = link.target_span
            address = self._address(target)
            shown = f"{self.text[link.start : before]}{address}{self.text[after : link.end]}"
        elif link.form == "reference" and link.target in self.all_names:
            shown = f"[{link.label}]({escape_target(target)})"  # its definition goes with the list
        return source.marked(shown)

    def _told_numbers(self, link: Link) -> str | None:
        names = [name.strip() for name in re.split("[,;]", link.target)]
        meant = [self._meant(name, link.start) for name in names]
        if all(meant):
            return " ".join(self._told_entry(found) for found in meant if found)
        is_marked = _MARKS.match(self.text, link.end) is not None
        own = self.own_names.get(link.target) if is_marked else None
        if own and not self._targets(own):
            return self._told_entry(own)
        if is_marked or self.is_numbered:
            self.citations += 1
            self.unmatched += 1
            return f"{self.text[link.start : link.end]} {UNMATCHED}"
        return None

    def _told_note(self, link: Link) -> str | None:
        if found := self.all_names.get(link.target):
            return self._told_entry(found)
        shown = self.text[link.start : link.end]
        return f"{shown} {UNMATCHED}" if link.target in self.invented_notes else shown

    def _meant(self, name: str, at: int) -> ListedSource | str | None:
        """The entry that a number means: of the next list, else of any; or what it is defined as."""
        if name in self.targets and name not in self.all_names:
            return self.targets[name] if is_citation(self.targets[name]) else None
        following = bisect_right(self.starts, at)
        near = self.names[following] if following < len(self.names) else {}
        return near.get(name) or self.all_names.get(name)

    def _told_entry(self, meant: ListedSource | str) -> str:
        """Numbered links to the sources of an entry."""
        targets = [meant] if isinstance(meant, str) else self._targets(meant)
        if not targets and isinstance(meant, ListedSource):
            source = self._name(self._words(meant))
            return source.marked(f"[{source.number}]")
        cited = [(self._cite(target), target) for target in targets]
        links = [(s, f"[[{s.number}]]({self._address(target)})") for s, target in cited]
        return " ".join(source.marked(link) for source, link in links)

    def _address(self, target: str) -> str:
        """Where a link to a target leads; a file of the team by the way that works in a report."""
        return escape_target(self.ledger.link(target, self.ledger.key(target)))

    def _cite(self, target: str, *, title: str = "") -> NumberedSource:
        key = self.ledger.key(target)
        passage = self.ledger.find(key)
        new = NumberedSource(len(self.sources) + 1, self._address(target), passage, title)
        return self._counted(self.sources.setdefault(key, new))

    def _name(self, words: str) -> NumberedSource:
        """A source that has no address."""
        new = NumberedSource(len(self.sources) + 1, "", None, words)
        return self._counted(self.sources.setdefault(f"named {words.casefold()}", new))

    def _counted(self, source: NumberedSource) -> NumberedSource:
        self.citations += 1
        self.unmatched += source.passage is None
        return source

    def _merge(self, entry: ListedSource) -> None:
        """Take over an entry of a list that the model wrote."""
        words, targets = self._words(entry), self._targets(entry)
        for target in targets:
            known = self.sources.get(self.ledger.key(target))
            if known is None:
                self._cite(target, title=words)
            elif not known.title:
                known.title = words
        is_new = f"named {words.casefold()}" not in self.sources
        if not targets and words and not entry.is_group and is_new:
            self._name(words)

    def _targets(self, entry: ListedSource) -> list[str]:
        """What an entry points at: its links, or else the file or the title that it names."""
        raw = self.text[entry.words : entry.end]
        given = [self.targets.get(k.target, k.target) for k in entry.links]
        cited = [target for target in given if is_citation(target)]
        if cited:
            return cited[:1] if _OWN.search(raw) else list(dict.fromkeys(cited))
        if angled := _ANGLED.search(raw):
            return [angled[1]]
        files = [f for f in _FILE.findall(raw) if self.ledger.find(self.ledger.key(f))]
        if files:
            return list(dict.fromkeys(files))
        titled = self.ledger.titled(self._words(entry))
        passage = self.ledger.find(titled) if titled else None
        return [passage.source] if passage else []

    def _words(self, entry: ListedSource) -> str:
        """What an entry says beside its addresses."""
        parts: list[str] = []
        position = entry.words
        for link in entry.links:
            parts += [self.text[position : link.start], link.label]
            position = max(position, link.end)
        raw = "".join([*parts, self.text[position : entry.end]])
        plain = _ANGLED.sub("", raw).replace(f"{UNMATCHED}: {NOT_FOUND}", "").replace(UNMATCHED, "")
        return one_line(_STEERING.sub("", plain), _TITLE_LENGTH).strip(_AROUND)

    def _invented_notes(self) -> set[str]:
        """Footnotes outside of the lists that cite, and of all they cite nothing was read or found."""
        invented: set[str] = set()
        notes = [note for note in self.defined if note.is_note]
        limits = [*(note.start for note in notes[1:]), len(self.text)]
        for note, limit in zip(notes, limits, strict=False):
            gap = self.text.find("\n\n", note.end, limit)
            first = bisect_left(self.links, note.end, key=_start)
            last = bisect_left(self.links, limit if gap < 0 else gap, key=_start)
            cited = [k.target for k in self.links[first:last] if k.form in {"inline", "address"}]
            keys = [self.ledger.key(target) for target in cited if is_citation(target)]
            if keys and not any(self.ledger.find(key) for key in keys):
                invented.add(note.name)
        return invented


def _start(link: Link) -> int:
    return link.start


def _is_own(text: str, listed: SourceList) -> bool:
    """Whether a list is one that this module wrote: its numbers are those of the links already."""
    return all(_OWN.search(text[entry.words : entry.end]) for entry in listed.entries)


def _joined(parts: list[str]) -> str:
    """The text without its lists, in paragraphs as before."""
    whole = [parts[0].rstrip(), *(part.strip("\n").rstrip() for part in parts[1:])]
    return "\n\n".join(part for part in whole if part)
