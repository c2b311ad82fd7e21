"""What the checks of a repository found: its own commands on this machine, or those of a pull request."""

from collections.abc import Sequence
from typing import Literal

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.text import pluralize

CheckName = Literal["test", "lint"]
CheckOutcome = Literal["passed", "failed", "stopped", "pending", "skipped"]
MAX_OUTPUT_CHARS = 8_000  # of each check: the end, where most tools sum up


class CheckResult(DomainModel, frozen=True):
    """`detail` says how it ended. `output` is untrusted data: the end of what the check printed."""

    name: str
    outcome: CheckOutcome
    detail: str = ""
    command: str = ""
    seconds: float | None = None
    output: str = ""
    output_cut: bool = False


def have_passed(results: Sequence[CheckResult]) -> bool:
    outcomes = {result.outcome for result in results}
    return "passed" in outcomes and outcomes <= {"passed", "skipped"}


def summarize(results: Sequence[CheckResult]) -> str:
    """Such as "2 checks: 1 failed, 1 passed"."""
    counts: dict[str, int] = {}
    for result in sorted(results, key=lambda result: result.outcome):
        counts[result.outcome] = counts.get(result.outcome, 0) + 1
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    return f"{pluralize(len(results), 'check')}: {outcomes}" if results else "No checks"
