"""What a run may cost: reserved when it begins, released when it ends."""

from datetime import date

from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.run_events import RecordingSink


def reserve_budget(exploration: Exploration, sink: RecordingSink, deps: Deps) -> Exploration:
    """Fix the cost limit of this exploration, once for each run. It is stored before the first paid call.

    What the run may spend is reserved from its owner's daily limit, so that parallel runs cannot exceed
    it together. A run counts on the day it began. Safe to repeat after a crash at any point.
    """
    if exploration.run.limit_usd is not None:
        return exploration
    if exploration.branch_of:  # its parent has reserved what its branches may cost
        limit = exploration.request.max_cost_usd
    else:
        day = exploration.run.charged_on or deps.clock.now().date()
        exploration = exploration.replace(charged_on=day)
        limit = _reserve(exploration, day, sink, deps)
    limited = exploration.replace(limit_usd=limit)
    sink.save_soon(limited)
    return limited


def _reserve(exploration: Exploration, day: date, sink: RecordingSink, deps: Deps) -> float | None:
    policy = deps.policy
    limit = policy.limit_of(exploration.request)
    if policy.spend is None or policy.daily_cost_usd is None:
        return limit
    # The day is stored before anything is reserved on it: whoever ends the run must know it.
    sink.save(exploration)
    before = exploration.run.base_cost_usd
    wanted = policy.daily_cost_usd if limit is None else max(0.0, limit - before)
    reserved = policy.spend.reserve(
        exploration.owner, day, _run_key(exploration), wanted, limit=policy.daily_cost_usd
    )
    return before + reserved


def record_spend(exploration: Exploration, cost_usd: float | None, deps: Deps) -> None:
    """Record what this run has cost, and release the rest of its reservation. Safe to repeat."""
    spend = deps.policy.spend
    if spend is None or exploration.run.charged_on is None:
        return
    paid = max(0.0, (cost_usd or 0.0) - exploration.run.base_cost_usd)
    spend.record(exploration.owner, exploration.run.charged_on, _run_key(exploration), paid)


def _run_key(exploration: Exploration) -> str:
    return f"{exploration.id}-{exploration.run.number}"
