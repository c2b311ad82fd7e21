"""What a run may cost: reserved when it begins, released when it ends."""

from collections.abc import Mapping

from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.deps import Deps


def reserve_budget(exploration: Exploration, deps: Deps) -> Exploration:
    """Fix the cost limit of this exploration, once for each run.

    What the run may spend is reserved from its owner's daily limit, so that parallel runs cannot exceed
    it together. A run counts on the day it began. Safe to repeat after a crash at any point.
    """
    if exploration.run.limit_usd is not None:
        return exploration
    if exploration.branch_of:  # its parent has reserved what its branches may cost
        return _save_changes(exploration, {"limit_usd": exploration.request.max_cost_usd}, deps)
    # The day is stored before anything is reserved on it: whoever ends the run must know it.
    day = exploration.run.charged_on or deps.clock.now().date()
    exploration = _save_changes(exploration, {"charged_on": day}, deps)
    policy = deps.policy
    limit = policy.limit_of(exploration.request)
    if policy.spend and policy.daily_cost_usd is not None:
        before = exploration.run.base_cost_usd
        wanted = policy.daily_cost_usd if limit is None else max(0.0, limit - before)
        reserved = policy.spend.reserve(
            exploration.owner, day, _run_key(exploration), wanted, limit=policy.daily_cost_usd
        )
        limit = before + reserved
    return _save_changes(exploration, {"limit_usd": limit}, deps)


def record_spend(exploration: Exploration, cost_usd: float | None, deps: Deps) -> None:
    """Record what this run has cost, and release the rest of its reservation. Safe to repeat."""
    spend = deps.policy.spend
    if spend is None or exploration.run.charged_on is None:
        return
    paid = max(0.0, (cost_usd or 0.0) - exploration.run.base_cost_usd)
    spend.record(exploration.owner, exploration.run.charged_on, _run_key(exploration), paid)


def _save_changes(
    exploration: Exploration, changes: Mapping[str, object], deps: Deps
) -> Exploration:
    changed = exploration.replace(**changes)
    if changed != exploration:
        deps.explorations.save(changed)
    return changed


def _run_key(exploration: Exploration) -> str:
    return f"{exploration.id}-{exploration.run.number}"
