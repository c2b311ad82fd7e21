"""What a run may cost: fixed and held back when it begins, given back when it ends."""

from collections.abc import Mapping

from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.deps import Deps


def reserve_budget(exploration: Exploration, deps: Deps) -> Exploration:
    """Fix the most that all runs of this exploration together may cost, once for each run.

    What this run may spend of its owner's day is held back from the owner's other runs, so that runs
    side by side cannot pass the day's limit together. A run counts on the day on which it began.
    One that was broken off in here does the rest when it is repeated.
    """
    if exploration.run.limit_usd is not None:
        return exploration
    # The day is kept before anything is held on it: whoever ends the run must know where to give back.
    day = exploration.run.charged_on or deps.clock.now().date()
    exploration = _save_changes(exploration, {"charged_on": day}, deps)
    policy = deps.policy
    limit = exploration.request.max_cost_usd or policy.max_cost_usd
    if policy.spend and policy.daily_cost_usd is not None:
        before = exploration.run.base_cost_usd
        wanted = policy.daily_cost_usd if limit is None else max(0.0, limit - before)
        held = policy.spend.reserve(
            exploration.owner, day, _run(exploration), wanted, limit=policy.daily_cost_usd
        )
        limit = before + held
    return _save_changes(exploration, {"limit_usd": limit}, deps)


def record_spend(exploration: Exploration, cost_usd: float | None, deps: Deps) -> None:
    """Record what this run has cost, which gives back what was held for it. Safe to repeat."""
    spend = deps.policy.spend
    if spend is None or exploration.run.charged_on is None:
        return
    paid = max(0.0, (cost_usd or 0.0) - exploration.run.base_cost_usd)
    spend.record(exploration.owner, exploration.run.charged_on, _run(exploration), paid)


def _save_changes(
    exploration: Exploration, changes: Mapping[str, object], deps: Deps
) -> Exploration:
    changed = exploration.replace(**changes)
    if changed != exploration:
        deps.explorations.save(changed)
    return changed


def _run(exploration: Exploration) -> str:
    return f"{exploration.id}-{exploration.run.number}"
