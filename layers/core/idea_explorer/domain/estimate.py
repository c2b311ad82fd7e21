"""What an exploration will probably take, told before anything is spent."""

import math
from collections.abc import Sequence

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.text import pluralize

MIN_RUNS = 5  # fewer runs say less about the next one than the table does
TAIL = 0.1  # the share of past runs that is left out at either end
TABLE_RUNS = 5  # how many past runs the table weighs as much as
LEAST_SPREAD = 1.25  # runs that were all alike do not promise that the next one is too


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
    out. `summary` says all of this in a sentence."""

    toolset: str
    depth: str | None
    model: str
    cost_usd: Range | None
    tokens: Range
    minutes: Range
    runs: int
    max_cost_usd: float | None
    least_usd: float | None
    summary: str


def range_from_past(ratios: Sequence[float], table: Range) -> Range:
    """The range around the median of past runs, each compared with the middle of what the table said of
    it. The fewer there are, the further it reaches beyond them and the more it is as wide as the table's."""
    logs = sorted(math.log(ratio * table.middle) for ratio in ratios)
    middle = _quantile(logs, 0.5)
    reach = 1.5 + 2.0 / len(logs)
    weight = len(logs) / (len(logs) + TABLE_RUNS)
    width = math.log(table.high / table.low) / 2

    def widen(distance: float) -> float:
        return weight * max(reach * distance, math.log(LEAST_SPREAD)) + (1 - weight) * width

    below = widen(middle - _quantile(logs, TAIL))
    above = widen(_quantile(logs, 1 - TAIL) - middle)
    return Range(low=math.exp(middle - below), high=math.exp(middle + above))


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
