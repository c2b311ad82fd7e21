"""Find an exploration for the person who asks."""

from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, is_id
from idea_explorer.usecases.deps import Deps


def find(exploration_id: str, owner: str, deps: Deps) -> Exploration:
    """An owner's exploration. Another owner's, and what is no id at all, are missing just the same."""
    if not is_id(exploration_id):
        raise MissingError("There is no exploration with this id.")
    found = deps.explorations.load(ExplorationId(exploration_id))
    if found.owner != owner:
        raise MissingError(f"There is no exploration {found.id}.")
    return found
