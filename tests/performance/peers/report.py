"""Medians, their spread and the ratios against other peers, as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from tests.performance.peers.environments import PEERS

COLUMNS = {
    "ready": "ready ms",
    "ready CPU": "ready CPU ms",
    "first": "first done ms",
    "warm CPU": "warm CPU ms",
    "warm": "warm ms",
    "20 at once": "20 at once ms",
    "20 at once CPU": "20 at once CPU ms",
    "RSS": "RSS MB",
    "sent": "sent KB",
}
# by peer and figure: one value for each round
Results: TypeAlias = Mapping[str, Mapping[str, Sequence[float]]]


@dataclass(frozen=True)
class Goal:
    figure: str
    against: str
    limit: float
    stretch: float | None = None


GOALS = (
    Goal("ready", "c", 0.35, 0.25),
    Goal("ready CPU", "c", 0.35, 0.25),
    Goal("warm CPU", "cs", 0.50, 0.40),
    Goal("warm CPU", "ai_sdk", 1.00, 0.80),
    Goal("20 at once", "ai_sdk", 1.00),
    Goal("20 at once", "cs", 0.60),
    Goal("RSS", "c", 0.65),
)


def render_table(results: Results) -> str:
    """The median of each figure, and in brackets the lowest and the highest."""
    lines = [f"| | {' | '.join(COLUMNS.values())} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, figures in results.items():
        cells = [_format_values(figures[figure]) for figure in COLUMNS]
        lines.append(f"| {PEERS[name].label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def render_goals(results: Results) -> str:
    """Our ratios against others: the median of those within each round, which had the same machine."""
    lines = ["| ours to | figure | ratio | at most | stretch |", "|---" * 5 + "|"]
    for goal in GOALS:
        if "ours" not in results or goal.against not in results:
            continue
        own, others = results["ours"][goal.figure], results[goal.against][goal.figure]
        ratios = [mine / theirs for mine, theirs in zip(own, others, strict=True)]
        found = median(ratios)
        lines.append(
            f"| {PEERS[goal.against].label} | {goal.figure} |"
            f" {found:.2f} ({min(ratios):.2f}–{max(ratios):.2f}) |"
            f" {_judge(found, goal.limit)} | {_judge(found, goal.stretch)} |"
        )
    return "\n".join(lines)


def _format_values(values: Sequence[float]) -> str:
    middle = median(values)
    digits = 0 if middle >= 100 else 1
    return f"{middle:.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def _judge(ratio: float, limit: float | None) -> str:
    if limit is None:
        return ""
    return f"{limit:.2f}: {'reached' if ratio <= limit else 'not reached'}"
