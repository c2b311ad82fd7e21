"""The cited sentences of a report, each with the passages that it cites, as verification finds them."""

from dataclasses import dataclass
from itertools import accumulate

from idea_explorer.agent.state import State
from idea_explorer.domain.markdown import find_headings
from idea_explorer.domain.report_phrases import ADDED_HEADINGS, UNSUPPORTED, spell_in_english
from idea_explorer.domain.sources import UNMATCHED
from idea_explorer.domain.verification.cited import find_cited_sentences
from idea_explorer.domain.verification.report import Passages
from idea_explorer.domain.verification.rules import Unsupported, find_unsupported


@dataclass(frozen=True)
class CitedClaim:
    """A sentence that cites, and what of it stands in none of its passages. A citation without evidence
    has no passages."""

    text: str
    passages: tuple[str, ...]
    unsupported: tuple[Unsupported, ...]
    is_marked: bool  # to warn the reader of it

    @property
    def is_supported(self) -> bool:
        return bool(self.passages) and not self.unsupported


def find_claims(report: str, state: State) -> list[CitedClaim]:
    """In the order of the report."""
    body, marks = _take_marks(spell_in_english(cut_added(report)))
    content = [block for answer in state.answers for block in answer.content]
    passages = Passages(state.evidence, content)
    claims: list[CitedClaim] = []
    for cited in find_cited_sentences(body):
        texts = passages.find(cited.targets)
        wrong = find_unsupported(cited.text, passages.read(cited.targets)) if texts else []
        is_marked = UNMATCHED in cited.text or any(cited.start < m <= cited.end for m in marks)
        claims.append(CitedClaim(cited.text, tuple(texts), tuple(wrong), is_marked))
    return claims


def _take_marks(body: str) -> tuple[str, list[int]]:
    """The text without the marks that verification adds, and where they stood."""
    parts = body.split(f" {UNSUPPORTED}")
    return "".join(parts), list(accumulate(map(len, parts[:-1])))


def cut_added(report: str) -> str:
    """The report without what was added to its text: how strong its claims are, and its sources."""
    added = [h.start for h in find_headings(report) if h.level == 2 and h.title in ADDED_HEADINGS]
    return report[: added[0]] if added else report
