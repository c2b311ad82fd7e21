"""What the transcript of a deep run says about its branches."""

from collections.abc import Sequence

from idea_explorer.domain.branches import BranchFindings
from idea_explorer.domain.transcript import (
    AnyEntry,
    BranchesFinished,
    BranchesStarted,
    Instruction,
)


def open_branches(entries: Sequence[AnyEntry]) -> BranchesStarted | None:
    """The branches that were started and whose findings are not here yet."""
    for entry in reversed(entries):
        if isinstance(entry, BranchesStarted):
            return entry
        if isinstance(entry, BranchesFinished):
            return None
    return None


def latest_findings(entries: Sequence[AnyEntry]) -> list[BranchFindings]:
    """What each branch has ended with, in their order. A later run of a branch counts for all before it."""
    finished = [entry for entry in entries if isinstance(entry, BranchesFinished)]
    latest = {found.number: found for entry in finished for found in entry.findings}
    return [latest[number] for number in sorted(latest)]


def count_starts(entries: Sequence[AnyEntry], number: int) -> int:
    """How often a branch was started."""
    tasks = [t for e in entries if isinstance(e, BranchesStarted) for t in e.branches]
    return sum(task.number == number for task in tasks)


def started_branches(entries: Sequence[AnyEntry]) -> bool:
    """Whether branches were started since the last resume: a run starts them once."""
    for entry in reversed(entries):
        if isinstance(entry, BranchesStarted):
            return True
        if isinstance(entry, Instruction) and entry.purpose == "resume":
            return False
    return False


def unanswered_questions(
    entries: Sequence[AnyEntry], questions: Sequence[str], most: int
) -> dict[int, str]:
    """By the number of their branch, the questions of a plan that no branch has answered. Of more
    questions than there may be branches, some are asked together."""
    groups = ["\n".join(questions[start::most]) for start in range(min(most, len(questions)))]
    answered = {(f.number, f.question) for f in latest_findings(entries) if f.text}
    asked = enumerate(groups, start=1)
    return {number: group for number, group in asked if (number, group) not in answered}
