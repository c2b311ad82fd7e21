"""The scores of one run: how good its report is, and what it took."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from idea_explorer.agent.prompts import framework
from idea_explorer.agent.state import State
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.languages import find_language
from idea_explorer.domain.report_text import find_verdict
from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.words import plain_text
from tests.evaluation.claims import CitedClaim, cut_added, find_claims
from tests.evaluation.recordings import Recording

QUALITIES = ("structure", "verdict", "precision", "warned", "coverage")


@dataclass(frozen=True)
class Score:
    """One row of the table. A quality is a share from 0 to 1, or None where there is nothing to score."""

    name: str
    group: str
    language: str
    outcome: str
    structure: float | None
    verdict: float | None
    precision: float | None
    warned: float | None
    coverage: float | None
    cited: int
    marked: int
    planted: int
    caught: int  # planted claims that are marked, corrected or found by the rules
    words: int
    steps: int
    input_tokens: int
    output_tokens: int
    dollars: float

    def quality(self, name: str) -> float | None:
        value: float | None = getattr(self, name)
        return value


def score(recording: Recording, done: Exploration, report: str, state: State) -> Score:
    claims = find_claims(report, state)
    stats = done.run.stats
    return Score(
        name=recording.name,
        group=recording.group,
        language=recording.language,
        outcome=done.run.outcome or "",
        structure=score_structure(recording, report),
        verdict=score_verdict(recording, report),
        precision=score_precision(claims),
        warned=score_warnings(claims),
        coverage=score_coverage(recording, report),
        cited=len(claims),
        marked=sum(claim.is_marked for claim in claims),
        planted=len(recording.planted),
        caught=sum(is_caught(planted, report, claims) for planted in recording.planted),
        words=count_words(report),
        steps=stats.steps,
        input_tokens=stats.usage.all_input_tokens,
        output_tokens=stats.usage.output_tokens,
        dollars=stats.cost_usd or 0.0,
    )


def score_structure(recording: Recording, report: str) -> float:
    """The share of what a report must have: its title, the language of the idea and, for research, each
    section of its framework."""
    has_title = report.startswith("# ")
    in_language = find_language(cut_added(report)) == recording.language
    expected = framework(recording.mode) if recording.toolset == "research" else None
    sections = len(expected.sections) if expected else 0
    missing = expected.missing(report) if expected else []
    # a missing verdict is named with its words, and has a score of its own
    absent = [name for name in missing if expected and name in expected.sections]
    return (has_title + in_language + sections - len(absent)) / (2 + sections)


def score_verdict(recording: Recording, report: str) -> float | None:
    if recording.toolset != "research" or not framework(recording.mode).verdicts:
        return None
    return float(find_verdict(report) is not None)


def score_precision(claims: Sequence[CitedClaim]) -> float | None:
    """Of the cited sentences, the share that their passages support."""
    return fmean(claim.is_supported for claim in claims) if claims else None


def score_warnings(claims: Sequence[CitedClaim]) -> float | None:
    """Of the cited sentences that their passages do not support, the share that a reader is warned of."""
    wrong = [claim for claim in claims if not claim.is_supported]
    return fmean(claim.is_marked for claim in wrong) if wrong else None


def score_coverage(recording: Recording, report: str) -> float:
    folded = " ".join(fold(cut_added(report)).split())
    return fmean(point.is_covered(folded) for point in recording.rubric)


def is_caught(planted: str, report: str, claims: Sequence[CitedClaim]) -> bool:
    """Whether a reader is warned of a planted claim, or a rule finds it, or it was taken out."""
    stating = [claim for claim in claims if planted in claim.text]
    if not stating:
        return planted not in cut_added(report)
    return all(claim.is_marked or not claim.is_supported for claim in stating)


def count_words(report: str) -> int:
    lines = cut_added(report).splitlines()
    return sum(len(plain_text(line).split()) for line in lines)
