"""The cited sentences of a report: where they stand and what they cite."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from idea_explorer.domain.links import BREAK, Link, read_links, select_links
from idea_explorer.domain.markdown import Span, find_headings
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.source_lists import is_source_heading
from idea_explorer.domain.sources import UNMATCHED, is_citation

# The longest answer of a model is shorter; what follows in a longer text is not checked.
MAX_REPORT = 300_000
_END = lazy_pattern(r"[.!?…][\"'”’»)*_]{0,3}(?=\s)")
MARKER = 10  # characters before the number of a list item
_VISIBLE = lazy_pattern(r"\S")
_NUMBERED = lazy_pattern(r"\[?\d{1,3}\]?\Z")
_LAST_WORD = lazy_pattern(r"[\w.]{1,12}\Z")
# words after which a full stop ends no sentence
_ABBREVIATED = frozenset(
    "e.g i.e vs approx inc ltd co corp dr mr mrs ms st no nr ca z.b d.h bzw u.s u.k p.a est vol fig"
    " prof".split()
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, list item or table row, and the sources that it links to."""

    start: int
    end: int
    text: str
    targets: tuple[str, ...]


def find_cited_sentences(report: str) -> list[Sentence]:
    if not read_links(report[:MAX_REPORT]).links:
        return []
    return [sentence for sentence in find_sentences(report) if sentence.targets]


def find_sentences(report: str) -> list[Sentence]:
    """Of a report whose citations were checked, so that every one of them is a link."""
    report = report[:MAX_REPORT]
    read = read_links(report)
    defined = {d.name: d.target for d in read.defined if not d.is_note}
    end = _sources_start(report)
    found: list[Sentence] = []
    for start, stop in _units(report, [span for span in read.prose if span[0] < end], read.links):
        links = select_links(read.links, start, min(stop, end))
        cited = [_target(link, defined) for link in links]
        targets = tuple(dict.fromkeys(t for t in cited if t and is_citation(t)))
        found.append(Sentence(start, stop, report[start:stop], targets))
    return found


def _sources_start(report: str) -> int:
    headings = [h for h in find_headings(report) if is_source_heading(h.title)]
    return headings[-1].start if headings else len(report)


def _target(link: Link, defined: dict[str, str]) -> str:
    if link.form in {"number", "note"}:
        return ""
    return defined.get(link.target, "") if link.form == "reference" else link.target


def _units(report: str, prose: Sequence[Span], links: Sequence[Link]) -> Iterator[Span]:
    """Sentences; of a table, its rows."""
    for start, end in prose:
        breaks = [found.start() for found in BREAK.finditer(report, start, end)]
        for first, last in pairwise([start, *breaks, end]):
            begin, stop = _trim(report, first, last)
            if report.startswith("#", begin):
                heading = report.find("\n", begin, stop)
                begin, stop = _trim(report, stop if heading < 0 else heading, stop)
            block = report[begin:stop]
            if not block:
                continue
            if block.startswith("|"):
                yield begin, stop
            else:
                yield from _sentences(report, begin, stop, select_links(links, begin, stop))


def _trim(report: str, start: int, end: int) -> Span:
    text = report[start:end]
    begin = start + len(text) - len(text.lstrip())
    return begin, max(begin, start + len(text.rstrip()))


def _sentences(report: str, start: int, end: int, links: Sequence[Link]) -> Iterator[Span]:
    begins = {link.start: link for link in links}
    spans = iter(sorted((link.start, link.end) for link in links))
    span = next(spans, None)
    for found in _END.finditer(report, start, end):
        while span and span[1] < found.end():
            span = next(spans, None)
        inside_link = span is not None and span[0] <= found.start() < span[1]
        if inside_link or found.start() < start or _is_abbreviation(report, start, found.start()):
            continue
        stop = _take_citations(report, found.end(), end, begins)
        following = _VISIBLE.search(report, stop, end)
        if following and not following[0].islower():
            yield start, stop
            start = following.start()
    if start < end:
        yield start, end


def _is_abbreviation(report: str, start: int, at: int) -> bool:
    word = _LAST_WORD.search(report[max(start, at - 12) : at])
    if report[at] != "." or word is None:
        return False
    begin = at - len(word[0])
    is_list_number = (
        word[0].isdigit() and begin - start < MARKER and not report[start:begin].strip()
    )
    is_initial = len(word[0]) == 1 and word[0].isupper()
    return is_list_number or is_initial or word[0].lower() in _ABBREVIATED


def _take_citations(report: str, at: int, end: int, links: dict[int, Link]) -> int:
    """Where the citations after a full stop end: numbers, links in brackets of their own, or links that
    nothing follows. They belong to the sentence before them."""
    while True:
        begin = _skip(" ", report, at, end)
        if report.startswith("(", begin):
            return _take_brackets(report, begin + 1, end, links) or at
        if _skip_links(report, begin, end, links) == end:
            return end
        link = links.get(begin)
        if link is None or not _NUMBERED.match(link.label):
            return at
        at = _after(report, link)


def _take_brackets(report: str, at: int, end: int, links: dict[int, Link]) -> int | None:
    """Where brackets end that hold nothing but links; None if they hold anything else."""
    at = _skip_links(report, at, end, links)
    return at + 1 if report.startswith(")", at, end) else None


def _skip_links(report: str, at: int, end: int, links: dict[int, Link]) -> int:
    while link := links.get(_skip(" ,;\n", report, at, end)):
        at = _after(report, link)
    return at


def _after(report: str, link: Link) -> int:
    marked = report.startswith(f" {UNMATCHED}", link.end)
    return link.end + (len(UNMATCHED) + 1 if marked else 0)


def _skip(signs: str, report: str, at: int, end: int) -> int:
    """The next position that has none of these signs, a few at most."""
    before = report[at : min(at + 4, end)]
    return at + len(before) - len(before.lstrip(signs))
