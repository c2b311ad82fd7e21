"""What an exploration will probably take, told before anything is spent."""

import math
from collections.abc import Sequence

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.text import pluralize

MIN_RUNS = 5  # fewer runs say less about the next one than the table does
TABLE_RUNS = 5  # how many past runs the table weighs as much as for how far runs differ
MIDDLE_RUNS = 1  # and for where their middle is: it is one guess
# Dollars and minutes are to hold together in 95 of 100 runs, so each has to in 97.5. In standard deviations:
REACH = 2.24
TABLE_REACH = 1.96  # the table is read as a range that holds in 95 of 100
FURTHEST = (
    2.0  # half widths of the table from the median: a run further away counts as one so far away
)


class Range(DomainModel, frozen=True):
    low: float
    high: float

    def capped(self, most: float | None) -> "Range":
        if most is None:
            return self
        return Range(low=min(self.low, most), high=min(self.high, most))

    @property
    def middle(self) -> float:
        """By factors, not by sums: a run may well cost twice as much as another."""
        return math.sqrt(self.low * self.high)


class Estimate(DomainModel, frozen=True):
    """`cost_usd` is null if the model's price is not known; `tokens` counts what is read at each step and
    what is written. `runs` is how many earlier explorations it is based on, 0 if on the table alone.
    `max_cost_usd` is the most that it may cost, and `least_usd` the least that it needs to find anything
    out. `max_steps` and `deadline_seconds` limit it too. `summary` says what it will take in a sentence."""

    toolset: str
    depth: str | None
    model: str
    cost_usd: Range | None
    tokens: Range
    minutes: Range
    runs: int
    max_cost_usd: float | None
    least_usd: float | None
    max_steps: int
    deadline_seconds: int
    summary: str


def range_from_past(ratios: Sequence[float], table: Range) -> Range:
    """Where the next run will be, by what past runs took, each compared with the middle of what the table
    said of it: a prediction interval of Student's t for their logarithms. The table counts as some more runs
    around its own middle, so that a few runs do not narrow it much; runs that were elsewhere widen it."""
    width = math.log(table.high / table.low) / 2
    logs = _limit_odd_ones([math.log(ratio) for ratio in ratios], FURTHEST * width)
    mean = math.fsum(logs) / len(logs)
    runs, weight = len(logs) + TABLE_RUNS, len(logs) + MIDDLE_RUNS
    squares = TABLE_RUNS * (width / TABLE_REACH) ** 2
    squares += math.fsum((log - mean) ** 2 for log in logs)
    squares += MIDDLE_RUNS * len(logs) / weight * mean**2
    middle = math.log(table.middle) + math.fsum(logs) / weight
    reach = _student(REACH, runs) * math.sqrt(squares / runs * (1 + 1 / weight))
    return Range(low=math.exp(middle - reach), high=math.exp(middle + reach))


def _limit_odd_ones(logs: Sequence[float], furthest: float) -> list[float]:
    median = _quantile(sorted(logs), 0.5)
    return [min(max(log, median - furthest), median + furthest) for log in logs]


def _student(normal: float, freedom: int) -> float:
    """The quantile of Student's t from that of the normal distribution, by the first terms of its
    expansion (Abramowitz and Stegun, 26.7.5)."""
    first = (normal**3 + normal) / 4
    second = (5 * normal**5 + 16 * normal**3 + 3 * normal) / 96
    return normal + first / freedom + second / freedom**2


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def format_estimate(
    cost_usd: Range | None,
    tokens: Range,
    minutes: Range,
    *,
    basis: str,
    max_cost_usd: float | None,
    may_open_pdfs: bool = False,
) -> str:
    """`may_open_pdfs`: Anthropic bills a PDF whole, which no limit holds back."""
    if cost_usd is None:
        price = f"{_round_tokens(tokens.low)} to {_round_tokens(tokens.high)} tokens of a model"
        price += " whose price is not known"
    else:
        price = format_dollars(cost_usd)
    most = "" if max_cost_usd is None or cost_usd is None else f"; at most ${max_cost_usd:.2f}"
    pdfs = " plus any PDF it opens" if most and may_open_pdfs else ""
    return f"{price}, {format_minutes(minutes)}, {basis}{most}{pdfs}"


def format_dollars(cost_usd: Range) -> str:
    """Rounded outwards, to cents or to a tenth of a cent if it is little."""
    digits = 2 if cost_usd.high >= 0.1 or not cost_usd.high else 3
    unit = 10**digits
    low, high = math.floor(cost_usd.low * unit) / unit, math.ceil(cost_usd.high * unit) / unit
    told = f"${low:.{digits}f}"
    return told if low == high else f"{told} to ${high:.{digits}f}"


def format_minutes(minutes: Range) -> str:
    low, high = math.floor(minutes.low), math.ceil(minutes.high)
    if high <= 1:
        return "less than a minute"
    return f"{low} to {pluralize(high, 'minute')}" if low else f"up to {pluralize(high, 'minute')}"


def _round_tokens(tokens: float) -> str:
    return f"{round(tokens, -3):,.0f}"
