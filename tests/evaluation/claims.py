"""The cited sentences of a report, each with the passages that it cites."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from idea_explorer.agent.state import State
from idea_explorer.domain.json import citations_of, text_of
from idea_explorer.domain.links import Link, find_definitions, find_links
from idea_explorer.domain.markdown import find_headings, find_prose
from idea_explorer.domain.source_lists import is_source_heading
from idea_explorer.domain.sources import Ledger, is_citation, normalize_source
from idea_explorer.domain.verification import Evidence, Unsupported, find_unsupported

MARK = "⚠"  # begins every mark that warns a reader of a claim
# A sentence ends before a capital, but not after an abbreviation of one letter.
_SENTENCE_END = re.compile(r"(?<=\w\w[.!?])\s+(?=[^\W\d_a-zß-öø-ÿ]|[„“\"«(])")
_NUMBERED = re.compile(r"\[?\d{1,3}\]?\Z")


@dataclass(frozen=True)
class Claim:
    """A sentence that cites, and what of it stands in none of its passages. A citation without evidence
    has no passages."""

    text: str
    passages: tuple[str, ...]
    marked: bool
    unsupported: tuple[Unsupported, ...]

    @property
    def is_supported(self) -> bool:
        return bool(self.passages) and not self.unsupported


def find_claims(report: str, state: State) -> list[Claim]:
    """In the order of the report, without its list of sources."""
    body = cut_sources(report)
    ledger = Ledger(state.evidence, given=state.opening.requests or ())
    quotes = _collect_quotes(state)
    prose = find_prose(body)
    links = [
        link
        for link in find_links(body, prose, find_definitions(body, prose))
        if link.form in {"inline", "address"} and is_citation(link.target)
    ]
    claims: list[Claim] = []
    for start, end in _spans(body, links):
        cited = [link for link in links if start <= link.start < end]
        if cited:
            claims.append(_make_claim(body[start:end], cited, ledger, quotes))
    return claims


def cut_sources(report: str) -> str:
    """The report without its list of sources."""
    lists = [h.start for h in find_headings(report) if is_source_heading(h.title)]
    return report[: lists[-1]] if lists else report


def _make_claim(
    text: str, cited: Sequence[Link], ledger: Ledger, quotes: Mapping[str, Sequence[str]]
) -> Claim:
    passages: list[str] = []
    for key in dict.fromkeys(ledger.key(link.target) for link in cited):
        passage = ledger.find(key)
        if passage:
            found = [passage.title, passage.text, *quotes.get(key, ())]
            passages += [part for part in found if part]
    unsupported = find_unsupported(text, Evidence(passages)) if passages else []
    return Claim(text.strip(), tuple(passages), MARK in text, tuple(unsupported))


def _spans(body: str, links: Sequence[Link]) -> list[tuple[int, int]]:
    """Where each sentence, list item and cell of a table begins and ends. The numbers that follow a sentence
    belong to it."""
    masked = list(body)
    for link in links:
        start = link.start if _NUMBERED.match(link.label) else link.end
        masked[start : link.end] = " " * (link.end - start)
    plain = "".join(masked)
    edges = {0, len(body)}
    for line in re.finditer(r"[^\n]+", plain):
        edges |= {line.start(), line.end()}
        if line[0].lstrip().startswith("|"):
            edges |= {line.start() + cell.start() for cell in re.finditer(r"\|", line[0])}
            continue
        edges |= {line.start() + end.end() for end in _SENTENCE_END.finditer(line[0])}
    numbered = [link for link in links if _NUMBERED.match(link.label)]
    for link, following in zip_longest(numbered, numbered[1:]):
        rest = body[link.end : following.start if following else len(body)]
        after_stop = plain[: link.start].rstrip()[-1:] in {".", "!", "?"}
        if after_stop and rest.strip():
            edges.add(link.end + _mark_length(rest))
    return list(pairwise(sorted(edges)))


def _mark_length(rest: str) -> int:
    """How much of what follows a link is a mark of ours."""
    found = re.match(rf"[ \t]*{MARK}[^.\n\[A-ZÄÖÜ]*", rest)
    return found.end() if found else 0


def _collect_quotes(state: State) -> dict[str, list[str]]:
    """Every text that the model cites from a page, by the page's key."""
    quotes: dict[str, list[str]] = defaultdict(list)
    for answer in state.answers:
        for block in answer.content:
            for citation in citations_of(block):
                quotes[normalize_source(text_of(citation.get("url")))].append(
                    text_of(citation.get("cited_text"))
                )
    return quotes
