"""Read how far an exploration has come."""

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.progress import RunProgress, progress_of
from idea_explorer.usecases.deps import Deps

LAST_EVENTS = 20  # enough that one of them says what is going on


def read_progress(exploration: Exploration, deps: Deps) -> RunProgress:
    """From the record, a few events and the records of the branches that the run waits for, however long
    its history is."""
    now = deps.clock.now()
    if exploration.status != "running":
        return progress_of(exploration, (), now)
    events = deps.events.read_last(exploration.id, limit=LAST_EVENTS)
    branches = [deps.explorations.load(branch.id) for branch in exploration.run.branches]
    return progress_of(
        exploration,
        [event.data for event in events],
        now,
        [branch.run.stats for branch in branches],
    )
