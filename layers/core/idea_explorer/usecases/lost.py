"""Close what a process of this machine left undone when it was killed."""

from collections.abc import Callable

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.settle import settle
from idea_explorer.usecases.work import books_of


def settle_lost(
    owner: str,
    engine: Engine,
    is_worked_on: Callable[[Exploration], bool],
    *,
    but: ExplorationId | None = None,
) -> list[Exploration]:
    """Give each run that nobody works on any more its end, and its owner back what was held for it.

    What was there is kept, and a resume goes on from it. `but` is about to be taken up as it is. Who
    asked for a webhook has yet to be told. What is queued for the workers is theirs to begin.
    """
    now = engine.clock.now()
    queued = engine.explorations.unchanged_since("queued", now)
    begun = engine.explorations.unchanged_since("running", now)
    open_runs = [*(e for e in queued if e.by_command), *begun]
    lost = [e for e in open_runs if e.owner == owner and e.id != but and not is_worked_on(e)]
    return [settle(e.id, e.run, "broken", books_of(engine)) for e in lost]
