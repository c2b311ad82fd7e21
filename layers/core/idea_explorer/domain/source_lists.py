"""Find the lists of sources that a model wrote into its report, in any of their forms.

A list is a section under a heading of any level, a line in bold or a line that ends in a colon. Its
entries are list items, definitions, footnotes and lines that end in an address. Any other text in the
section stays in the report.
"""

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.links import Link, LinkDefinition, fold_name, select_links
from idea_explorer.domain.markdown import BOLD_LINE, Heading, Span
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.sources import UNMATCHED

# Compared as a whole, without numbers, punctuation and case: "Market sources" is not a list of sources.
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
_NOT_TITLE = lazy_pattern(r"\A[\W\d_]+|[\W_]+\Z")
# A section of references may also name people to ask.
_AMBIGUOUS = lazy_pattern("r[eé]f[eé]r", re.IGNORECASE)
MAX_TITLE = 80  # no heading of a list is longer


def is_source_heading(title: str) -> bool:
    if len(title) > MAX_TITLE:
        return False
    plain = _NOT_TITLE.sub("", title)
    return " ".join(plain.split()).casefold() in _HEADINGS


LIST_LEVEL = 2  # of the heading above the list that replaces them all
_PLAIN = lazy_pattern(
    rf"^ {{0,3}}(?P<title>[^\s#*_>|:`<\[-][^\n:#*|]{{0,{MAX_TITLE}}}):[ \t\r]*$", re.MULTILINE
)
_LINE = lazy_pattern(r"[^\n]*\n?")
# The start of a list item: `-`, `1.`, `[1]`, `[^1]:`, or a definition.
_MARKER = lazy_pattern(
    r"(?P<indent>[ \t]*)(?:(?:[-*+•–][ \t]+)?"
    r"(?:\[(?P<name>\^[^\[\]\n]{1,40}|\d{1,4})\](?::|(?![(\[]))|\[(?P<defined>[^\[\]\n]{1,200})\]:"
    r"|(?P<number>\d{1,4})[.)](?=[ \t]))|[-*+•–](?=[ \t]))[ \t]*"
)
_NAMING = frozenset({"number", "note"})  # forms of links that name an entry of a list
_LABEL = lazy_pattern(r" {0,3}(?:#{1,6}[ \t]|\*\*[^*\n]{1,200}\*\*:?[ \t\r]*$)", re.MULTILINE)


@dataclass(slots=True)
class ListedSource:
    """One entry of a list. `name` is the number or name that the text cites it by."""

    name: str
    start: int
    end: int
    words: int  # where its text begins, after the marker
    indent: int
    links: list[Link] = field(default_factory=list)
    is_group: bool = False  # a title for the entries below it


@dataclass(slots=True)
class SourceList:
    """A list with its heading. `prose` is the text in it that is not a source."""

    start: int
    end: int
    entries: list[ListedSource]
    prose: list[Span]

    def by_name(self) -> dict[str, ListedSource]:
        return {entry.name: entry for entry in reversed(self.entries) if entry.name}


def find_source_lists(
    text: str,
    headings: Sequence[Heading],
    prose: Sequence[Span],
    links: Sequence[Link],
    defined: Sequence[LinkDefinition],
) -> list[SourceList]:
    found: list[SourceList] = []
    cited = {name for link in links if link.form in _NAMING for name in link.names}
    by_start = {definition.start: definition for definition in defined if not definition.is_note}
    sections = sorted([*_find_headed(text, headings), *_find_announced(text, prose)])
    for begin, body, end, is_open in sections:
        if found and begin < found[-1].end:
            continue
        entries, others, reached = _split(text, (body, end), prose, links, by_start, is_open)
        lists_sources = (
            any(entry.links for entry in entries)
            or not others
            or not _AMBIGUOUS.search(text, begin, body)
            or any(entry.name in cited for entry in entries)
        )
        if entries and lists_sources:
            found.append(SourceList(begin, reached, entries, others))
    return found


def _find_headed(text: str, headings: Sequence[Heading]) -> Iterator[tuple[int, int, int, bool]]:
    """Start, body, end and whether it is open of each section; an open one ends with its entries."""
    ends: list[Heading] = []  # later headings that could end a section, nearest last
    for heading in reversed(headings):
        if heading.run_in:
            continue
        if is_source_heading(heading.title):
            # the list that replaces it has level 2, so whatever ends that level ends this section
            level = max(heading.level, LIST_LEVEL)
            ending = next((h for h in reversed(ends) if h.level <= level), None)
            end = ending.start if ending else len(text)
            body = min(heading.end + 1, len(text))
            yield heading.start, body, end, heading.level == BOLD_LINE
        while ends and ends[-1].level >= heading.level:
            ends.pop()
        ends.append(heading)


def _find_announced(text: str, prose: Sequence[Span]) -> Iterator[tuple[int, int, int, bool]]:
    for start, end in prose:
        for match in _PLAIN.finditer(text, start, end):
            if is_source_heading(match["title"]):
                yield match.start(), min(match.end() + 1, len(text)), len(text), True


def _split(
    text: str,
    body: Span,
    prose: Sequence[Span],
    links: Sequence[Link],
    defined: Mapping[int, LinkDefinition],
    is_open: bool,
) -> tuple[list[ListedSource], list[Span], int]:
    """The entries of a section, the other text in it, and where it ends."""
    entries: list[ListedSource] = []
    others: list[Span] = []
    label: Span | None = None  # a heading within the list stays only with text of its own
    in_entry, end = False, body[0]
    for start, stop in _iterate_lines(text, body):
        line = text[start:stop]
        is_prose = _contains(prose, start)
        marker = _MARKER.match(text, start, stop) if is_prose else None
        if not line.strip():
            in_entry = False
            if not is_open:
                end = stop
            continue
        if marker:
            name = fold_name(marker["number"] or marker["name"] or marker["defined"] or "")
            indent = len(marker["indent"].expandtabs(4))
            entries.append(ListedSource(name, start, stop, marker.end(), indent))
            in_entry = True
        elif in_entry and is_prose and not line.lstrip().startswith(("#", "|", ">")):
            entries[-1].end = stop
        elif is_prose and _ends_in_link(text, start, stop, links):
            entries.append(ListedSource("", start, stop, start, 0))
        elif is_open:
            break
        elif is_prose and _LABEL.match(text, start, stop):
            in_entry, label = False, (start, stop)
        else:
            others += [label, (start, stop)] if label else [(start, stop)]
            in_entry, label = False, None
        end = stop
    _assign_links(entries, links, defined)
    return entries, _join(others, text), end if is_open else body[1]


def _iterate_lines(text: str, body: Span) -> Iterator[Span]:
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
    if last < 0 or links[last].start < start or links[last].form in _NAMING:
        return False
    if links[last].label.strip("[]").isdigit():  # a citation in a sentence
        return False
    return not text[links[last].end : stop].replace(UNMATCHED, "").strip(" \t\r\n.,;)")


def _assign_links(
    entries: Sequence[ListedSource], links: Sequence[Link], defined: Mapping[int, LinkDefinition]
) -> None:
    """Give each entry the links in it; a definition, found by its start, is itself a link."""
    for index, entry in enumerate(entries):
        found = select_links(links, entry.words, entry.end)
        inside = [link for link in found if link.form not in _NAMING]
        definition = defined.get(entry.start + entry.indent)
        if definition:
            span = (definition.start, definition.end)
            inside = [Link("address", *span, "", definition.target), *inside]
        entry.links = inside
        below = entries[index + 1].indent if index + 1 < len(entries) else 0
        entry.is_group = not inside and below > entry.indent


def _join(lines: Sequence[Span], text: str) -> list[Span]:
    """Join lines with nothing but blank lines between them."""
    spans: list[Span] = []
    for start, end in lines:
        if spans and not text[spans[-1][1] : start].strip():
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans
