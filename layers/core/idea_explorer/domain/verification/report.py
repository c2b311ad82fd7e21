"""Verify a report by rule, mark what is not supported, and say how strong the evidence for each claim is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from idea_explorer.domain.cited_sources import CitedDocument, read_citations
from idea_explorer.domain.claims import Claim
from idea_explorer.domain.json import Block
from idea_explorer.domain.report_phrases import EVIDENCE, SOURCES, UNSUPPORTED
from idea_explorer.domain.sources import UNMATCHED, Ledger, normalize_source
from idea_explorer.domain.text import escape_markdown, one_line
from idea_explorer.domain.tools import Passage, find_file
from idea_explorer.domain.verification.batch import cut_excerpt
from idea_explorer.domain.verification.cited import find_cited_sentences, find_sentences
from idea_explorer.domain.verification.verbatim import has_sentence, states_sentence
from idea_explorer.domain.verification.words import (
    MAX_PASSAGE,
    find_words,
    plain_text,
    remove_emphasis,
    remove_links,
)

if TYPE_CHECKING:
    from idea_explorer.domain.verification.evidence import Evidence
    from idea_explorer.domain.verification.rules import Unsupported

MAX_CLAIMS = 60  # that the section lists
MAX_CLAIM = 160  # characters of each
MIN_WORDS = 3  # fewer are no statement
MAX_SAID = 600  # characters of what the source says instead
_NOT_IN_PASSAGE = {
    "number": "the source does not say {}",
    "date": "the source does not name {}",
    "name": "the source does not name {} there",
    "quotation": "the source does not have the words “{}”",
}


class Passages:
    """The readable texts of a run's sources, by source."""

    def __init__(
        self,
        evidence: Sequence[Passage],
        content: Iterable[Block],
        page: str | None = None,
        documents: Sequence[CitedDocument] = (),
    ) -> None:
        self._ledger = Ledger(evidence, page)
        self._texts: dict[str, dict[str, None]] = {}
        self._titles: dict[str, dict[str, None]] = {}
        self._plain: dict[str, str] = {}
        self._read: dict[str, Evidence] = {}
        self._combined: dict[tuple[str, ...], Evidence] = {}
        for passage in evidence:
            if passage.text:
                key = normalize_source(passage.source, page)
                # a citation of a file means all its pages; where it has none, both keys are one
                for each in {key, find_file(key)}:
                    self._add(each, passage.title, passage.text)
        for block in content:
            for target, words in read_citations(block, documents):
                if words:
                    self._add(normalize_source(target, page), "", words)

    def _add(self, key: str, title: str, text: str) -> None:
        self._texts.setdefault(key, {})[text] = None
        if title:
            self._titles.setdefault(key, {})[title] = None

    def key(self, target: str) -> str:
        return self._ledger.key(target)

    def find(self, targets: Iterable[str]) -> list[str]:
        """The text of each of these sources that has any, its shortest parts first: those are quotations."""
        keys = dict.fromkeys(map(self.key, targets))
        return ["\n".join(sorted(self._texts[key], key=len)) for key in keys if key in self._texts]

    def count_readable(self, targets: Iterable[str]) -> int:
        return len({key for target in targets if (key := self.key(target)) in self._texts})

    def is_reference(self, sentence: str, targets: Iterable[str]) -> bool:
        """Whether a sentence is only the title of a source that it links to. It states nothing."""
        said = plain_text(sentence)
        return any(said in self._titles.get(key, ()) for key in map(self.key, targets))

    def have_sentence(self, sentence: str, targets: Iterable[str]) -> bool:
        """Whether one of these sources has the sentence word for word. This loads and reads none of what the
        rules need."""
        return any(has_sentence(sentence, text) for text in self._plain_texts(targets))

    def state_sentence(self, sentence: str, targets: Iterable[str]) -> bool:
        """Whether one that has it says so itself, and none of them takes it back."""
        having = [text for text in self._plain_texts(targets) if has_sentence(sentence, text)]
        return bool(having) and all(states_sentence(sentence, text) for text in having)

    def _plain_texts(self, targets: Iterable[str]) -> Iterator[str]:
        return map(self._remove_emphasis, self._keys(targets))

    def _keys(self, targets: Iterable[str]) -> tuple[str, ...]:
        return tuple(key for key in dict.fromkeys(map(self.key, targets)) if key in self._texts)

    def _remove_emphasis(self, key: str) -> str:
        if key not in self._plain:
            texts = (text[:MAX_PASSAGE] for text in self._texts[key])
            self._plain[key] = remove_emphasis("\n".join(texts))
        return self._plain[key]

    def read(self, targets: Iterable[str]) -> Evidence:
        """The texts of these sources, with their titles, as the rules read them. Each source is read once."""
        keys = self._keys(targets)
        from idea_explorer.domain.verification.combined import CombinedEvidence

        if keys not in self._combined:
            parts = [self._read_source(key) for key in keys]
            self._combined[keys] = parts[0] if len(parts) == 1 else CombinedEvidence(parts)
        return self._combined[keys]

    def _read_source(self, key: str) -> Evidence:
        from idea_explorer.domain.verification.evidence import Evidence

        if key not in self._read:
            self._read[key] = Evidence([*self._texts[key]], [*self._titles.get(key, ())])
        return self._read[key]


def check_by_rule(
    report: str, passages: Passages, out_of_time: Callable[[], bool] = lambda: False
) -> list[Claim]:
    """The cited sentences of a report. One that its source states word for word is supported, unless a model
    says otherwise. Any other that no rule objects to is unchecked: whether it follows from its passages is
    for a model to say. So are those that there is no time for."""
    claims: list[Claim] = []
    for cited in find_cited_sentences(report):
        if passages.is_reference(cited.text, cited.targets):
            continue
        readable = passages.count_readable(cited.targets)
        claim = Claim(text=cited.text, sources=cited.targets, readable=readable)
        if passages.have_sentence(cited.text, cited.targets):
            if passages.state_sentence(cited.text, cited.targets):
                claim = replace(claim, verdict="supported", judge="rule")
        elif readable and not out_of_time():
            claim = _apply_rules(claim, passages.read(cited.targets))
        claims.append(claim)
    return claims


def _apply_rules(claim: Claim, evidence: Evidence) -> Claim:
    from idea_explorer.domain.verification.rules import find_unsupported

    wrong = find_unsupported(claim.text, evidence)
    if not wrong:
        return claim
    return replace(
        claim,
        verdict="unsupported",
        judge="rule",
        is_final=any(each.is_absent for each in wrong),
        reason="; ".join(map(_explain, wrong)),
        passage=cut_excerpt(evidence.text, plain_text(claim.text), MAX_SAID),
    )


def keep_verdicts(report: str, claims: Sequence[Claim], earlier: Iterable[Claim]) -> list[Claim]:
    """The claims of a correction, and what was unsupported before and stands there in the same words without
    a source that can be read: to drop a link is no correction."""
    refuted = {key: c for c in earlier if c.verdict == "unsupported" for key in _wordings(c.text)}
    if not refuted:
        return [*claims]
    left = deque(claims)
    found: list[Claim] = []
    for sentence in find_sentences(report):
        claim = left.popleft() if left and left[0].text == sentence.text else None
        before = next((refuted[k] for k in _wordings(sentence.text) if k in refuted), None)
        if before and not (claim and claim.readable):
            claim = replace(before, text=sentence.text)
        if claim:
            found.append(claim)
    return found


def _wordings(text: str) -> set[tuple[str, ...]]:
    """The words of a sentence, with the names of its links and without them."""
    said = text.replace(UNMATCHED, "")
    words = (tuple(find_words(plain_text(each))) for each in (said, remove_links(said)))
    return {wording for wording in words if len(wording) >= MIN_WORDS}


def _explain(wrong: Unsupported) -> str:
    return _NOT_IN_PASSAGE[wrong.kind].format(wrong.text)


def mark_unsupported(report: str, claims: Iterable[Claim]) -> str:
    """The report with a mark after every sentence that its source does not support."""
    parts: list[str] = []
    position = 0
    for claim in claims:
        at = report.find(claim.text, position)
        if at < 0:
            continue
        end = at + len(claim.text)
        if claim.verdict == "unsupported":
            cell_end = (
                len(claim.text.rstrip(" |")) if claim.text.startswith("|") else len(claim.text)
            )
            parts += [
                report[position : at + cell_end],
                f" {UNSUPPORTED}",
                report[at + cell_end : end],
            ]
        else:
            parts.append(report[position:end])
        position = end
    return "".join([*parts, report[position:]])


def add_evidence(report: str, claims: Sequence[Claim], numbers: Mapping[str, int]) -> str:
    """The report with a section that says how well each claim is supported, before the list of sources.
    `numbers` are those of the sources in that list, by their targets."""
    if not claims:
        return report
    lines = [_describe(claim, numbers) for claim in claims[:MAX_CLAIMS]]
    if len(claims) > MAX_CLAIMS:
        lines.append(f"- and {len(claims) - MAX_CLAIMS} more")
    section = f"{EVIDENCE}\n\n" + "\n".join(lines)
    before, found, after = report.rpartition(f"\n{SOURCES}\n")
    if not found:
        return f"{report.rstrip()}\n\n{section}"
    return f"{before.rstrip()}\n\n{section}\n{found}{after}"


def _describe(claim: Claim, numbers: Mapping[str, int]) -> str:
    cited = sorted({numbers[target] for target in claim.sources if target in numbers})
    sources = ", ".join(map(str, cited))
    named = f" (source {sources})" if len(cited) == 1 else f" (sources {sources})" if cited else ""
    said = plain_text(claim.text.replace(f" {UNMATCHED}", "")).strip(" |")
    text = escape_markdown(one_line(said, MAX_CLAIM))
    return f"- **{name_strength(claim)}**{named}: {text}"


def name_strength(claim: Claim) -> str:
    """How strong the evidence for a claim is, in words."""
    match claim.verdict:
        case "supported":
            return "several sources cited" if claim.readable > 1 else "one source"
        case "partly":
            return "partly supported"
        case "unsupported":
            return "not supported"
        case _:
            return "unchecked"
