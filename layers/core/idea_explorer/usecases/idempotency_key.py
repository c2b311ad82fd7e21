"""The exploration that an Idempotency-Key stands for, whether or not anybody was told of it."""

from dataclasses import dataclass
from datetime import timedelta

from idea_explorer.domain.errors import KeyTakenError, MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, id_for_day
from idea_explorer.domain.limits import KEY_SECONDS
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.inheritance import as_stored


@dataclass(frozen=True, slots=True)
class Keyed:
    """The id that the key gives, and what is stored under it."""

    id: ExplorationId
    stored: Exploration | None = None


def keyed(owner: str, key: str, request: ExploreRequest, deps: Deps) -> Keyed:
    """Find what a call with this key has stored, or say under which id to store it.

    The id follows from owner, key and day, so that a call which died before it could answer leaves
    an exploration that the next one finds. Raises KeyTakenError where that is another request's.
    """
    now = deps.clock.now()
    kept = timedelta(seconds=KEY_SECONDS)
    today, before = (id_for_day(owner, key, moment.date()) for moment in (now, now - kept))
    for known in (today, before):
        try:
            stored = deps.explorations.load(known)
        except MissingError:
            continue
        if stored.created_at <= now - kept:
            continue
        if stored.request != as_stored(request, owner, deps):
            raise KeyTakenError
        return Keyed(known, stored)
    return Keyed(today)
