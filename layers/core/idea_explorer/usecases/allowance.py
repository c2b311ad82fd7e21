"""What a run may cost: fixed and held back when it begins, given back when it ends."""

from collections.abc import Mapping
from datetime import datetime

from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import Explorations, Spend
from idea_explorer.usecases.request_policy import RequestPolicy


def reserve_budget(
    exploration: Exploration, terms: RequestPolicy, explorations: Explorations, now: datetime
) -> Exploration:
    """Fix the most that all runs of this exploration together may cost, once for each run.

    What this run may spend of its owner's day is held back from the owner's other runs, so that runs
    side by side cannot pass the day's limit together. A run counts on the day on which it began.
    One that was broken off in here does the rest when it is repeated.
    """
    if exploration.run.limit_usd is not None:
        return exploration
    # The day is kept before anything is held on it: whoever ends the run must know where to give back.
    day = exploration.run.charged_on or now.date()
    exploration = _kept(exploration, explorations, {"charged_on": day})
    limit = exploration.request.max_cost_usd or terms.max_cost_usd
    if terms.spend and terms.daily_cost_usd is not None:
        before = exploration.run.base_cost_usd
        wanted = terms.daily_cost_usd if limit is None else max(0.0, limit - before)
        held = terms.spend.reserve(
            exploration.owner, day, _run(exploration), wanted, limit=terms.daily_cost_usd
        )
        limit = before + held
    return _kept(exploration, explorations, {"limit_usd": limit})


def charge(exploration: Exploration, cost_usd: float | None, spend: Spend | None) -> None:
    """Record what this run has cost, which gives back what was held for it. Safe to repeat."""
    if spend is None or exploration.run.charged_on is None:
        return
    paid = max(0.0, (cost_usd or 0.0) - exploration.run.base_cost_usd)
    spend.record(exploration.owner, exploration.run.charged_on, _run(exploration), paid)


def _kept(
    exploration: Exploration, explorations: Explorations, changes: Mapping[str, object]
) -> Exploration:
    changed = exploration.replace(**changes)
    if changed != exploration:
        explorations.save(changed)
    return changed


def _run(exploration: Exploration) -> str:
    return f"{exploration.id}-{exploration.run.number}"
