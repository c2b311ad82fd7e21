"""One attempt at a run, for a workflow that knows of errors only by their names."""

from collections.abc import Callable

from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.settle import OVERTAKEN, Books, settle


def attempt(
    exploration_id: ExplorationId, run: int, engine: Callable[[], Engine], books: Books
) -> Exploration:
    """Explore. What no other attempt can cure, such as a key that was never set, ends the run here,
    where the sentence that says what to do is still known; everything else is raised."""
    try:
        return explore(exploration_id, run, engine())
    except ExplorerError as error:
        if error.retryable or isinstance(error, OVERTAKEN):
            raise
        return settle(exploration_id, run, "broken", books, error=error)
