"""From a finished transcript to its report: pure, so that a replay comes to the same."""

import re
from dataclasses import dataclass

from idea_explorer.agent.moves import Finish
from idea_explorer.agent.state import State
from idea_explorer.domain.citations import check_citations, cited_passages
from idea_explorer.domain.json import text_of
from idea_explorer.domain.report import (
    best_text,
    title_of,
    verdict_of,
    without_preamble,
    written_text,
)
from idea_explorer.domain.transcript import Opening

# What a person wrote. The rest of the first message may hold an earlier report, which proves nothing.
_ASKED = re.compile(
    r"\AToday is [^\n]*\n\n<idea>\n(.*?)\n</idea>(?:\n\n<context>\n(.*?)\n</context>)?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Conclusion:
    text: str
    verdict: str | None
    citations: int
    unmatched: int

    def title(self, idea: str) -> str:
        return title_of(self.text, idea)


def asked_for(opening: Opening) -> list[str]:
    """The idea and its context, as they were given."""
    found = _ASKED.match(text_of(opening.content[0].get("text"))) if opening.content else None
    return [part for part in found.groups() if part] if found else []


def conclude(state: State, finish: Finish, page: str | None = None) -> Conclusion:
    """The report with its citations checked; of a run that ended early, the best text there is.

    `page` is where the team's repository is on the web.
    """
    whole = finish.status == "completed"
    written = without_preamble(written_text(state.entries) if whole else best_text(state.entries))
    quotes = cited_passages([block for answer in state.answers for block in answer.content])
    given = asked_for(state.opening)
    checked = check_citations(written, state.evidence, quotes, page=page, given=given)
    return Conclusion(checked.text, verdict_of(checked.text), checked.citations, checked.unmatched)
