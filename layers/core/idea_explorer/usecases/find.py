"""Find a stored exploration: by its id, by an Idempotency-Key, or as the one that a request continues."""

from datetime import timedelta

from idea_explorer.domain import limits
from idea_explorer.domain.errors import KeyTakenError, MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, id_for_day, is_id
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.usecases.deps import Deps


def find(exploration_id: str, owner: str, deps: Deps) -> Exploration:
    """Load an owner's exploration. Raises MissingError for another owner's, as for an unknown id."""
    if not is_id(exploration_id):
        raise MissingError("There is no exploration with this id.")
    found = deps.explorations.load(ExplorationId(exploration_id))
    if found.owner != owner:
        raise MissingError(f"There is no exploration {found.id}.")
    return found


def find_readable(exploration_id: str, owner: str, deps: Deps) -> Exploration:
    """Load an owner's exploration to show or to use what it read and wrote. Raises MissingError also for
    one of a repository that may no longer be explored."""
    found = find(exploration_id, owner, deps)
    deps.policy.check_access(found)
    return found


def find_by_key(
    key: str, request: ExploreRequest, owner: str, deps: Deps
) -> tuple[ExplorationId, Exploration | None]:
    """The id that an Idempotency-Key stands for, and the exploration stored under it, if any.

    The id is derived from owner, key and day, so that a call finds the exploration of an earlier call
    which died before it could answer. Raises KeyTakenError where that was another request.
    """
    now, lifetime = deps.clock.now(), timedelta(seconds=limits.KEY_SECONDS)
    today, yesterday = (id_for_day(owner, key, day.date()) for day in (now, now - lifetime))
    for candidate in (today, yesterday):
        try:
            stored = deps.explorations.load(candidate)
        except MissingError:
            continue
        if stored.created_at <= now - lifetime:
            continue
        if stored.request != _as_stored(request, owner, deps):
            raise KeyTakenError
        return candidate, stored
    return today, None


def inherit_from(parent: Exploration, request: ExploreRequest) -> ExploreRequest:
    """Complete a request from the exploration it continues: the repository, unless it names one, and
    the files besides its own."""
    before = parent.request
    if request.spec.takes("repository") and request.repository is None:
        ref = request.ref or before.ref
        return request.model_copy(update={"repository": before.repository, "ref": ref})
    files = tuple(dict.fromkeys([*request.files, *before.files]))[: limits.MAX_FILES]
    return request.model_copy(update={"files": files})


def _as_stored(request: ExploreRequest, owner: str, deps: Deps) -> ExploreRequest:
    if request.continue_from is None:
        return request
    try:
        return inherit_from(find(request.continue_from, owner, deps), request)
    except MissingError:
        return request
