"""Check a report's citations against the evidence of its run, and list its sources.

Every link in a report claims that this run read or found a source, and so does every entry of a list of
sources that the model wrote. Citations that match no evidence are marked before the report is stored; all
sources are numbered in one list at the end of the report. Checking a checked report changes nothing.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.links import Link, read_links, select_links
from idea_explorer.domain.markdown import Span, close_code, find_headings
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.report_phrases import SOURCES, spell_in_english
from idea_explorer.domain.report_text import cut_report
from idea_explorer.domain.source_entries import EntryReader
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
from idea_explorer.domain.tools import Passage

__all__ = ["UNMATCHED", "CheckedReport", "check_citations", "collect_quotes"]

# The output of a check may parse differently from its input, so it is checked until it stays the same.
ROUNDS = 5
MAX_CHECKED = 400_000  # characters in all rounds: less than a second. An answer has at most 80,000
# A number of three characters may stand for many long addresses. Once the links of numbers have this many
# characters, further numbers are marked instead of linked.
MAX_NUMBER_LINKS = 400_000
MAX_LINKS_OF_ENTRY = 20  # for one number; the list at the end has all of them
_MARKS = lazy_pattern(rf"(?:[ \t]*{UNMATCHED}(?![^\W_]|: {NOT_FOUND}))+")
_NUMBER = lazy_pattern(r"\[?\d{1,3}\]?\Z")
_WORD_ENDS = " \t\r\n.,;!?)"


@dataclass(frozen=True, slots=True)
class CheckedReport:
    text: str
    citations: int
    unmatched: int
    numbers: Mapping[str, int] = field(default_factory=dict)  # of its sources, by their keys


def check_citations(
    report: str,
    evidence: Sequence[Passage],
    quotes: dict[str, str] | None = None,
    *,
    page: str | None = None,
    given: Sequence[str] = (),
) -> CheckedReport:
    """Number the sources, mark citations that match no evidence, and end the report with the list. `page`
    is the address of the team's repository on the web, below which an address means a file. `given` are
    the texts of the request. What this adds is in English, whatever the language of the report."""
    quoted = tuple((quotes or {}).items())
    return _check(report, tuple(evidence), quoted, page, tuple(given))


@lru_cache(maxsize=1)  # a report is checked to be verified, and again to be stored
def _check(
    report: str,
    evidence: tuple[Passage, ...],
    quoted: tuple[tuple[str, str], ...],
    page: str | None,
    given: tuple[str, ...],
) -> CheckedReport:
    ledger, quotes = Ledger(evidence, page, given), dict(quoted)
    text = spell_in_english(cut_report(report))
    checked = _Check(text, ledger, quotes).run()
    for _ in range(1, min(ROUNDS, MAX_CHECKED // max(len(report), 1))):
        if checked.text == text:
            break
        text = checked.text
        checked = _Check(text, ledger, quotes).run()
    return checked


class _Check:
    def __init__(self, text: str, ledger: Ledger, quotes: dict[str, str]) -> None:
        self.text = text
        self.ledger = ledger
        self.quotes = quotes
        self.addresses: dict[str, str] = {}
        read = read_links(text)
        self.defined, self.links = read.defined, read.links
        self.lists = find_source_lists(
            text, find_headings(text), read.prose, self.links, self.defined
        )
        self.starts = [listed.start for listed in self.lists]
        self.targets = {d.name: d.target for d in reversed(self.defined) if not d.is_note}
        self.entries = EntryReader(text, ledger, self.targets)
        is_ours = [self.entries.is_ours(listed) for listed in self.lists]
        ours = [listed for listed, own in zip(self.lists, is_ours, strict=True) if own]
        self.our_names = {name: e for listed in ours for name, e in listed.by_name().items()}
        self.names = [
            {} if own else self._name_entries(listed)
            for listed, own in zip(self.lists, is_ours, strict=True)
        ]
        self.all_names = {name: e for names in reversed(self.names) for name, e in names.items()}
        self.is_numbered = any(name.isdigit() for name in self.all_names)
        self.unmatched_notes = self._find_unmatched_notes()
        self.room = MAX_NUMBER_LINKS
        self.sources: dict[str, NumberedSource] = {}
        self.citations = 0
        self.unmatched = 0

    def run(self) -> CheckedReport:
        report = _join_paragraphs([self._render(span) for span in self._spans_outside_lists()])
        prose = [self._render(span) for listed in self.lists for span in listed.prose]
        for listed in self.lists:
            for entry in listed.entries:
                self._merge(entry)
        if not self.sources:
            return CheckedReport(self.text, self.citations, self.unmatched)
        lines = "\n".join(s.render(self.quotes.get(key, "")) for key, s in self.sources.items())
        parts = [
            close_code(report),
            SOURCES,
            *(close_code(text.strip("\n")) for text in prose),
            lines,
        ]
        text = "\n\n".join(part for part in parts if part)
        numbers = {key: source.number for key, source in self.sources.items()}
        return CheckedReport(text, self.citations, self.unmatched, numbers)

    def _name_entries(self, listed: SourceList) -> dict[str, ListedSource]:
        """The entries that are not empty, by the names that the text cites them by."""
        named = listed.by_name().items()
        read = self.entries
        return {name: e for name, e in named if read.read_title(e) or read.find_targets(e)}

    def _spans_outside_lists(self) -> list[Span]:
        edges = [0, *(edge for found in self.lists for edge in (found.start, found.end))]
        return list(zip(edges[::2], [*edges[1::2], len(self.text)], strict=True))

    def _render(self, span: Span) -> str:
        parts: list[str] = []
        position, end = span
        for link in select_links(self.links, position, end):
            rewritten = self._rewrite(link)
            if rewritten is None or link.start < position:
                continue
            parts += [self.text[position : link.start], rewritten]
            marks = _MARKS.match(self.text, link.end, end)
            position = marks.end() if marks else link.end
            following = self.text[position : position + 1]
            is_marked = rewritten.endswith(UNMATCHED)
            if following.isalnum() if is_marked else marks and following not in _WORD_ENDS:
                parts.append(" ")  # keeps the following text apart from the mark or the address
        return "".join([*parts, self.text[position:end]])

    def _rewrite(self, link: Link) -> str | None:
        """The new text of a link, with its mark; None to leave it as it is."""
        match link.form:
            case "number":
                return self._rewrite_numbers(link)
            case "note":
                return self._rewrite_note(link)
            case "reference":
                target = self.targets[link.target]
                return self._rewrite_link(link, target) if is_citation(target) else None
            case "address" if self._is_repeated(link.target):
                return None
            case _:
                return self._rewrite_link(link, link.target) if is_citation(link.target) else None

    def _is_repeated(self, target: str) -> bool:
        """Whether an address was not read, but only copied from the evidence or the request."""
        key = self.ledger.key(target)
        return self.ledger.find(key) is None and self.ledger.mentions(key)

    def _rewrite_link(self, link: Link, target: str) -> str:
        source = self._cite(target)
        shown = self.text[link.start : link.end]
        if self.room <= 0 and link.form == "reference":
            pass  # neither its number nor its address may be repeated any more
        elif link.form in {"inline", "reference"} and _NUMBER.match(link.label):
            shown = f"[[{source.number}]]({self._address(target)})"
        elif link.form == "inline" and self._address(target) != escape_target(target):
            before, after = link.target_span
            address = self._address(target)
            shown = f"{self.text[link.start : before]}{address}{self.text[after : link.end]}"
        elif link.form == "reference" and link.target in self.all_names:
            shown = f"[{link.label}]({escape_target(target)})"  # its definition is removed with the list
        self.room -= len(shown) if link.form == "reference" else 0
        return source.mark(shown)

    def _rewrite_numbers(self, link: Link) -> str | None:
        resolved = [self._resolve(name, link.start) for name in link.names] if self.room > 0 else []
        if resolved and all(resolved):
            return " ".join(self._link_entry(entry) for entry in resolved if entry)
        is_marked = _MARKS.match(self.text, link.end) is not None
        ours = self.our_names.get(link.target) if is_marked else None
        if ours and not self.entries.find_targets(ours):
            return self._link_entry(ours)
        if is_marked or self.is_numbered or self.room <= 0:
            self.citations += 1
            self.unmatched += 1
            return f"{self.text[link.start : link.end]} {UNMATCHED}"
        return None

    def _rewrite_note(self, link: Link) -> str:
        entry = self.all_names.get(link.target)
        if entry and self.room > 0:
            return self._link_entry(entry)
        shown = self.text[link.start : link.end]
        return f"{shown} {UNMATCHED}" if entry or link.target in self.unmatched_notes else shown

    def _resolve(self, name: str, at: int) -> ListedSource | str | None:
        """The target of a definition, or an entry of the next list, else of any list."""
        if name in self.targets and name not in self.all_names:
            return self.targets[name] if is_citation(self.targets[name]) else None
        following = bisect_right(self.starts, at)
        near = self.names[following] if following < len(self.names) else {}
        return near.get(name) or self.all_names.get(name)

    def _link_entry(self, entry: ListedSource | str) -> str:
        """Numbered links to the sources of an entry, or to the target of a definition."""
        targets = [entry] if isinstance(entry, str) else self.entries.find_targets(entry)
        if not targets and isinstance(entry, ListedSource):
            source = self._cite_title(self.entries.read_title(entry))
            return source.mark(f"[{source.number}]")
        cited = [(self._cite(target), target) for target in targets[:MAX_LINKS_OF_ENTRY]]
        links = [(s, f"[[{s.number}]]({self._address(target)})") for s, target in cited]
        linked = " ".join(source.mark(link) for source, link in links)
        self.room -= len(linked)
        return linked

    def _address(self, target: str) -> str:
        if (known := self.addresses.get(target)) is None:
            known = escape_target(self.ledger.link(target, self.ledger.key(target)))
            self.addresses[target] = known
        return known

    def _cite(self, target: str, *, title: str = "") -> NumberedSource:
        key = self.ledger.key(target)
        passage = self.ledger.find(key)
        new = NumberedSource(len(self.sources) + 1, self._address(target), passage, title)
        return self._count(self.sources.setdefault(key, new))

    def _cite_title(self, title: str) -> NumberedSource:
        new = NumberedSource(len(self.sources) + 1, "", None, title)
        return self._count(self.sources.setdefault(_title_key(title), new))

    def _count(self, source: NumberedSource) -> NumberedSource:
        self.citations += 1
        self.unmatched += source.passage is None
        return source

    def _merge(self, entry: ListedSource) -> None:
        """Add an entry of a list that the model wrote to ours."""
        title, targets = self.entries.read_title(entry), self.entries.find_targets(entry)
        for target in targets:
            known = self.sources.get(self.ledger.key(target))
            if known is None:
                self._cite(target, title=title)
            elif not known.title:
                known.title = title
        is_new = _title_key(title) not in self.sources
        if not targets and title and not entry.is_group and is_new:
            self._cite_title(title)

    def _find_unmatched_notes(self) -> set[str]:
        """Footnotes outside the lists that cite sources, none of which was read or found."""
        unmatched: set[str] = set()
        notes = [note for note in self.defined if note.is_note]
        limits = [*(note.start for note in notes[1:]), len(self.text)]
        for note, limit in zip(notes, limits, strict=False):
            gap = self.text.find("\n\n", note.end, limit)
            links = select_links(self.links, note.end, limit if gap < 0 else gap)
            cited = [link.target for link in links if link.form in {"inline", "address"}]
            keys = [self.ledger.key(target) for target in cited if is_citation(target)]
            if keys and not any(self.ledger.find(key) for key in keys):
                unmatched.add(note.name)
        return unmatched


def _title_key(title: str) -> str:
    return f"named {title.casefold()}"


def _join_paragraphs(parts: list[str]) -> str:
    paragraphs = [parts[0].rstrip(), *(part.strip("\n").rstrip() for part in parts[1:])]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
