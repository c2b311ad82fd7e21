"""Estimate what a request will cost and how long it will take. No model is called and nothing is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idea_explorer.agent.prompts import system_prompt
from idea_explorer.domain.estimate import (
    MIN_RUNS,
    Estimate,
    Range,
    format_estimate,
    range_from_past,
)
from idea_explorer.domain.models import VERIFIER
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.typical_run import LONG, SHORT, TypicalRun, describe_run
from idea_explorer.ports import Filter

if TYPE_CHECKING:
    from idea_explorer.domain.exploration import Exploration
    from idea_explorer.domain.request import ExploreRequest
    from idea_explorer.usecases.deps import Deps
    from idea_explorer.usecases.request_policy import RequestPolicy

READ_RECORDS = 100  # the newest ones: one page of a query, and one batch of records
TOOLS_BYTES = 4_000  # what the definitions of a toolset come to
OFFLINE_MINUTES = Range(low=0.0, high=0.5)


def estimate(request: ExploreRequest, owner: str, deps: Deps) -> Estimate:
    """Raises InvalidRequestError for a request that would be refused."""
    deps.policy.check_request(request, owner)
    page = deps.explorations.page(owner, Filter(), limit=READ_RECORDS, cursor=None)
    left = deps.policy.left_today(owner, deps.clock.now())
    return estimate_from(page.explorations, request, deps.policy, left_usd=left)


def estimate_from(
    explorations: Iterable[Exploration],
    request: ExploreRequest,
    policy: RequestPolicy,
    *,
    left_usd: float | None = None,
) -> Estimate:
    """From earlier explorations of the same owner, of which those of the same kind count, or from the
    table. `left_usd` is what the owner may still spend today."""
    past = [_Past.of(e, policy) for e in explorations if _is_same_kind(e, request, policy)]
    table = _Table.of(request, policy)
    costs = _learn(table.cost_usd, [(run.cost_usd, run.table.cost_usd) for run in past])
    tokens = _learn(table.tokens, [(run.tokens, run.table.tokens) for run in past])
    minutes = _learn(table.minutes, [(run.minutes, run.table.minutes) for run in past])
    is_offline = policy.model_ids.get(request.model) == OFFLINE
    given = (None, None) if is_offline else (policy.limit_of(request), left_usd)
    limits = [usd for usd in given if usd is not None]
    most = max(0.0, min(limits)) if limits else None
    cost_usd = (costs or table.cost_usd).capped(most) if table.cost_usd else None
    minutes = (minutes or table.minutes).capped(request.seconds / 60)
    depth = request.depth if request.depth_limits else None
    name, runs = f"{depth or request.toolset} explorations", len(past) if tokens else 0
    basis = f"from your last {runs} {name}" if runs else f"from the table for {name}"
    return Estimate(
        toolset=request.toolset,
        depth=depth,
        model=OFFLINE if is_offline else request.model,
        cost_usd=cost_usd,
        tokens=tokens or table.tokens,
        minutes=minutes,
        runs=runs,
        max_cost_usd=most,
        least_usd=policy.least_usd(request),
        max_steps=request.steps,
        deadline_seconds=request.seconds,
        summary=format_estimate(
            cost_usd,
            tokens or table.tokens,
            minutes,
            basis=basis,
            max_cost_usd=most,
            may_open_pdfs=depth is not None and not is_offline,
        ),
    )


def _learn(table: Range | None, runs: Sequence[tuple[float | None, Range | None]]) -> Range | None:
    """The range by what earlier runs took and what the table says of them; None if they are too few."""
    if table is None:
        return None
    ratios = [took / said.middle for took, said in runs if took and said and said.middle]
    return range_from_past(ratios, table) if len(ratios) >= MIN_RUNS else None


@dataclass(frozen=True, slots=True)
class _Table:
    """What the table says of a request."""

    cost_usd: Range | None  # None where the price is not known
    tokens: Range
    minutes: Range

    @classmethod
    def of(cls, request: ExploreRequest, policy: RequestPolicy) -> _Table:
        given = (system_prompt(request), request.idea, request.context or "")
        size = sum(len(text.encode()) for text in given) + TOOLS_BYTES
        short, long = describe_run(request, size, SHORT), describe_run(request, size, LONG)
        model_id = policy.model_ids.get(request.model, "")
        low, high = (_cost(run, model_id, policy) for run in (short, long))
        minutes = Range(low=short.seconds / 60, high=long.seconds / 60)
        minutes = minutes.capped(request.seconds / 60)
        return cls(
            cost_usd=None if low is None or high is None else Range(low=low, high=high),
            tokens=Range(low=short.tokens, high=long.tokens),
            minutes=OFFLINE_MINUTES if model_id == OFFLINE else minutes,
        )


def _cost(run: TypicalRun, model_id: str, policy: RequestPolicy) -> float | None:
    price = policy.prices.get(model_id)
    if price is None:
        return None
    verifier = policy.prices.get(policy.model_ids.get(VERIFIER, ""))
    verification = verifier.cost(run.verification) if verifier else 0.0  # without it, only by rule
    return price.total(run.calls) + verification


@dataclass(frozen=True, slots=True)
class _Past:
    """What a past run took, and what the table says of it."""

    cost_usd: float | None
    tokens: int
    minutes: float | None
    table: _Table

    @classmethod
    def of(cls, exploration: Exploration, policy: RequestPolicy) -> _Past:
        stats, seconds = exploration.run.stats, exploration.seconds_worked
        return cls(
            cost_usd=stats.cost_usd,
            tokens=stats.usage.total_tokens,
            minutes=None if seconds is None else seconds / 60,
            table=_Table.of(exploration.request, policy),
        )


def _is_same_kind(exploration: Exploration, request: ExploreRequest, policy: RequestPolicy) -> bool:
    """Whether it ended with a report in its first run, in the same toolset and depth, by the same model."""
    run, asked = exploration.run, exploration.request
    return (
        exploration.status in {"completed", "partial"}
        and run.number == 1
        and run.stats.steps > 0
        and run.model_id == policy.model_ids.get(request.model)
        and (asked.toolset, asked.depth) == (request.toolset, request.depth)
    )
