"""The list of sources that a model wrote into its report, whatever it looks like.

A list is a section that is headed as one, at any level, in bold or by a line with a colon. Its entries
are list items, definitions, footnotes, and lines that end in an address. All else in it is text, which
stays in the report.
"""

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from idea_explorer.domain.links import Link, LinkDefinition, fold
from idea_explorer.domain.markdown import BOLD_LINE, Heading, Span
from idea_explorer.domain.sources import UNMATCHED

# Compared as a whole, without numbers, marks and case: a section on "market sources" is none of these.
_HEADINGS = frozenset(
    heading.strip()
    for heading in """
    sources, source list, list of sources, sources cited, sources and references, sources & references,
    sources used, sources consulted, references, reference list, references and sources,
    references & sources, bibliography, works cited, citations, web sources, internal sources,
    quellen, quellenverzeichnis, quellenangaben, quellen und verweise, literatur, literaturverzeichnis,
    einzelnachweise, fuentes, fuentes consultadas, referencias, referencias bibliográficas, bibliografía,
    références, sources et références, références bibliographiques, bibliographie, fonti, riferimenti,
    bibliografia, fontes, referências, referências bibliográficas, bronnen, bronnenlijst, bronvermelding,
    referenties, källor, källförteckning, referenser, kilder, kildeliste, referanser, referencer, lähteet,
    viitteet, źródła, zdroje, reference, források, hivatkozások, surse, referințe, viri, izvori, източници,
    источники, список источников, список литературы, литература, джерела, список джерел, πηγές, αναφορές,
    kaynaklar, kaynakça, מקורות, المصادر, المراجع, منابع, स्रोत, संदर्भ, nguồn, nguồn tham khảo,
    tài liệu tham khảo, sumber, daftar pustaka, referensi, แหล่งที่มา, 来源, 来源列表, 资料来源, 參考資料,
    参考资料, 参考文献, 參考文獻, 資料來源, 引用来源, 出典, 参考資料, 情報源, 출처,
    참고문헌, 참고 문헌, 참고 자료
    """.replace("\n", " ").split(",")
)
_AROUND = re.compile(r"\A[\W\d_]+|[\W_]+\Z")
MAX_TITLE = 80  # what is longer says more than that


def is_source_heading(title: str) -> bool:
    """Whether a heading says that the sources follow."""
    if len(title) > MAX_TITLE:
        return False
    plain = _AROUND.sub("", title)
    return " ".join(plain.split()).casefold() in _HEADINGS


LIST_LEVEL = 2
_PLAIN = re.compile(
    rf"^ {{0,3}}(?P<title>[^\s#*_>|:`<\[-][^\n:#*|]{{0,{MAX_TITLE}}}):[ \t\r]*$", re.MULTILINE
)
_LINE = re.compile(r"[^\n]*\n?")
# An item of a list, whatever marks it: `-`, `1.`, `[1]`, `[^1]:`, or a definition.
_MARKER = re.compile(
    r"(?P<indent>[ \t]*)(?:(?:[-*+•–][ \t]+)?"
    r"(?:\[(?P<name>\^[^\[\]\n]{1,40}|\d{1,4})\](?::|(?![(\[]))|\[(?P<defined>[^\[\]\n]{1,200})\]:"
    r"|(?P<number>\d{1,4})[.)](?=[ \t]))|[-*+•–](?=[ \t]))[ \t]*"
)
_LABEL = re.compile(r" {0,3}(?:#{1,6}[ \t]|\*\*[^*\n]{1,200}\*\*:?[ \t\r]*$)", re.MULTILINE)


@dataclass(slots=True)
class ListedSource:
    """One source of a list: the name by which the text refers to it, and where its words are."""

    name: str
    start: int
    end: int
    words: int  # where they begin, after the marker
    indent: int
    is_item: bool = True
    links: list[Link] = field(default_factory=list)
    is_group: bool = False  # a name for the entries below it


@dataclass(slots=True)
class SourceList:
    """A list with its heading. `kept` is what of it is text and no source."""

    start: int
    end: int
    entries: list[ListedSource]
    kept: list[Span]

    def named(self) -> dict[str, ListedSource]:
        return {entry.name: entry for entry in reversed(self.entries) if entry.name}


def find_source_lists(
    text: str,
    headings: Sequence[Heading],
    prose: Sequence[Span],
    links: Sequence[Link],
    defined: Sequence[LinkDefinition],
) -> list[SourceList]:
    found: list[SourceList] = []
    sections = sorted([*_headed(text, headings), *_announced(text, prose)])
    for begin, body, end, is_open in sections:
        if found and begin < found[-1].end:
            continue
        entries, kept, reached = _entries(text, (body, end), prose, links, defined, is_open)
        has_address = any(entry.links for entry in entries)
        if has_address or (entries and not kept and all(entry.is_item for entry in entries)):
            found.append(SourceList(begin, reached, entries, kept))
    return found


def _headed(text: str, headings: Sequence[Heading]) -> Iterator[tuple[int, int, int, bool]]:
    """Start, body and end of each section; an open one ends where its entries do."""
    ends: list[Heading] = []  # of what comes after, those that could end a section, nearest last
    for heading in reversed(headings):
        if heading.run_in:
            continue
        if is_source_heading(heading.title):
            # the list that is written in its place has level 2, and must not hold what ends that
            level = max(heading.level, LIST_LEVEL)
            ending = next((h for h in reversed(ends) if h.level <= level), None)
            end = ending.start if ending else len(text)
            body = min(heading.end + 1, len(text))
            yield heading.start, body, end, heading.level == BOLD_LINE
        while ends and ends[-1].level >= heading.level:
            ends.pop()
        ends.append(heading)


def _announced(text: str, prose: Sequence[Span]) -> Iterator[tuple[int, int, int, bool]]:
    for start, end in prose:
        for match in _PLAIN.finditer(text, start, end):
            if is_source_heading(match["title"]):
                yield match.start(), min(match.end() + 1, len(text)), len(text), True


def _entries(
    text: str,
    body: Span,
    prose: Sequence[Span],
    links: Sequence[Link],
    defined: Sequence[LinkDefinition],
    is_open: bool,
) -> tuple[list[ListedSource], list[Span], int]:
    """The entries of a section, what else is in it, and where it ends."""
    entries: list[ListedSource] = []
    kept: list[Span] = []
    label: Span | None = None  # a heading within the list stays only with text of its own
    open_entry, end = False, body[0]
    for start, stop in _lines(text, body):
        line = text[start:stop]
        is_prose = _contains(prose, start)
        marker = _MARKER.match(text, start, stop) if is_prose else None
        if not line.strip():
            open_entry = False
            if not is_open:
                end = stop
            continue
        if marker:
            name = fold(marker["number"] or marker["name"] or marker["defined"] or "")
            indent = len(marker["indent"].expandtabs(4))
            entries.append(ListedSource(name, start, stop, marker.end(), indent))
            open_entry = True
        elif open_entry and is_prose and not line.lstrip().startswith(("#", "|", ">")):
            entries[-1].end = stop
        elif is_prose and _ends_in_link(text, start, stop, links):
            entries.append(ListedSource("", start, stop, start, 0, is_item=False))
        elif is_open:
            break
        elif is_prose and _LABEL.match(text, start, stop):
            open_entry, label = False, (start, stop)
        else:
            kept += [label, (start, stop)] if label else [(start, stop)]
            open_entry, label = False, None
        end = stop
    _give_links(entries, links, defined)
    return entries, _joined(kept, text), end if is_open else body[1]


def _lines(text: str, body: Span) -> Iterator[Span]:
    position, end = body
    while position < end:
        found = _LINE.match(text, position, end)
        assert found is not None
        yield position, found.end()
        position = found.end()


def _contains(spans: Sequence[Span], position: int) -> bool:
    before = bisect_right(spans, (position, sys.maxsize)) - 1
    return before >= 0 and spans[before][0] <= position < spans[before][1]


def _ends_in_link(text: str, start: int, stop: int, links: Sequence[Link]) -> bool:
    last = bisect_left(links, stop, key=lambda link: link.start) - 1
    if last < 0 or links[last].start < start or links[last].form in {"number", "note"}:
        return False
    if links[last].label.strip("[]").isdigit():  # it cites within a sentence
        return False
    return not text[links[last].end : stop].replace(UNMATCHED, "").strip(" \t\r\n.,;)")


def _give_links(
    entries: Sequence[ListedSource], links: Sequence[Link], defined: Sequence[LinkDefinition]
) -> None:
    """To each entry the links in it; a definition is a link of its own."""
    known = {definition.start: definition for definition in defined if not definition.is_note}
    for index, entry in enumerate(entries):
        first = bisect_left(links, entry.words, key=lambda link: link.start)
        last = bisect_left(links, entry.end, key=lambda link: link.start)
        inside = [link for link in links[first:last] if link.form not in {"number", "note"}]
        definition = known.get(entry.start + entry.indent)
        if definition:
            span = (definition.start, definition.end)
            inside = [Link("address", *span, "", definition.target), *inside]
        entry.links = inside
        below = entries[index + 1].indent if index + 1 < len(entries) else 0
        entry.is_group = not inside and below > entry.indent


def _joined(lines: Sequence[Span], text: str) -> list[Span]:
    """Lines that follow one another as one, blank ones in between included."""
    joined: list[Span] = []
    for start, end in lines:
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
