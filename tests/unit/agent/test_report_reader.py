"""A report is read once, although it is verified and then stored."""

from dataclasses import replace

from idea_explorer.agent.state import State
from idea_explorer.agent.verification import ReportReader
from idea_explorer.domain.tools import Passage
from idea_explorer.domain.transcript import (
    AnyEntry,
    ModelCallFinished,
    Opening,
    VerificationFinished,
)
from idea_explorer.domain.usage import Usage

REPORT = "# Tea\n\nTea rooms do well ([as known](../notes.md))."
OPENING = Opening(model_id="m", system=[], tools=[], content=[])
ANSWER = ModelCallFinished(step=1, content=[], stop_reason="end_turn", usage=Usage(), duration_ms=1)


def test_a_report_that_was_verified_is_not_read_again() -> None:
    reader = ReportReader()
    entries: list[AnyEntry] = [OPENING, ANSWER]

    verified = reader.read(REPORT, State(entries))

    assert reader.read(REPORT, State([*entries, VerificationFinished()])) is verified


def test_another_report_and_one_with_more_sources_are_read() -> None:
    reader = ReportReader()
    known = replace(OPENING, passages=[Passage(source="notes.md", title="", sha256="")])
    first, _ = reader.read(REPORT, State([OPENING, ANSWER]))
    other, _ = reader.read(f"{REPORT} More.", State([OPENING, ANSWER]))
    again, _ = reader.read(REPORT, State([OPENING, ANSWER, ANSWER]))
    matched, _ = ReportReader().read(REPORT, State([known, ANSWER]))

    assert "More." in other.text
    assert (first.unmatched, again.unmatched) == (1, 1)
    assert again is not first
    assert matched.unmatched == 0
