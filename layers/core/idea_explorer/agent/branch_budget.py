"""What each branch of a run may cost, so that the run stays within its budget with all of them."""

import math

from idea_explorer.agent.budget import (
    FINDINGS_TOKENS,
    OUR_WORDS_TOKENS,
    Budget,
    estimate_tokens,
    report_tokens,
)
from idea_explorer.agent.prompts import prompt
from idea_explorer.agent.requests import build_request
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelRequest

MILLIONTHS = 1_000_000  # of a dollar: costs are rounded to these


@dataclass(frozen=True, slots=True)
class Share:
    """What one branch may cost; None is no limit."""

    usd: float | None


def share_budget(state: State, budget: Budget, branches: int, words: int) -> Share | None:
    """What each of so many branches may cost, beside what the run has spent and what it keeps to write a
    report of so many words. The verification of that is not in the budget: it is held back from all calls
    of the run. None where that is too little to find anything, and where the budget counts tokens: a
    branch cannot be held to a share of those."""
    if budget.price is None:
        return Share(None) if budget.max_total_tokens is None else None
    if budget.max_cost_usd is None:
        return Share(None)
    committed = [*state.billed, *_writing(state, branches, words)]
    left = budget.max_cost_usd - budget.price.total(committed)
    each = math.floor(left / branches * MILLIONTHS) / MILLIONTHS
    least = budget.minimum_usd(_first_request(state), searches=1, first=True) or 0.0
    return Share(each) if each >= least else None


def _writing(state: State, branches: int, words: int) -> list[Usage]:
    """The most that the report from all findings and its correction use."""
    read = estimate_tokens(build_request(state, writing=True)) + OUR_WORDS_TOKENS
    read += branches * FINDINGS_TOKENS
    written = report_tokens(words)
    again = read + written + OUR_WORDS_TOKENS
    return [
        Usage(cache_write_tokens=read, output_tokens=written),
        Usage(cache_write_tokens=again, output_tokens=written),
    ]


def _first_request(state: State) -> ModelRequest:
    """About the first request of a branch, which has the tools of its parent."""
    asked = [block for block in state.opening.content if block.get("type") == "text"]
    return ModelRequest(
        model_id=state.opening.model_id,
        system=[{"type": "text", "text": prompt("findings")}],
        tools=state.opening.tools,
        messages=[{"role": "user", "content": [*asked]}],
        max_tokens=limits.MAX_OUTPUT_TOKENS,
        writing=False,
    )
