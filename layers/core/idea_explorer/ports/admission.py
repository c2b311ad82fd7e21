"""How many explorations, dollars and streams a deployment admits at a time, and each request once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

from idea_explorer.domain.dataclass import dataclass

if TYPE_CHECKING:
    from idea_explorer.domain.exploration import Exploration
    from idea_explorer.domain.ids import ExplorationId
    from idea_explorer.domain.json import JsonObject


@dataclass(frozen=True, slots=True)
class WaitingExploration:
    """An exploration that waits for a slot. `owner_started` is when its owner last got one."""

    id: ExplorationId
    owner: str
    since: datetime
    owner_started: datetime | None = None


@dataclass(frozen=True, slots=True)
class Slots:
    """Who holds a slot, with its owner. While `paused`, nobody gets one."""

    holders: Mapping[ExplorationId, str]
    paused: bool = False


class Admission(Protocol):
    """Which explorations wait for a slot, and which hold one. The store of the records keeps both up to
    date with every change, and these reads see the latest change."""

    def longest_waiting(self, owner: str | None = None) -> Sequence[WaitingExploration]:
        """Of each owner that has any waiting, the one that has waited longest; or only of one owner."""

    def count_waiting(self) -> int: ...

    def slots(self) -> Slots: ...

    def set_paused(self, paused: bool) -> None: ...

    def add_waiting(self, explorations: Sequence[Exploration]) -> int:
        """List those as waiting that wait and were stored without that; returns how many there were."""

    def forget(self, waiting: WaitingExploration) -> None:
        """Remove one from the list that no longer waits."""

    def free_stale_slots(self) -> int:
        """Free the slots of explorations that are no longer exploring; returns how many there were."""


class Spend(Protocol):
    """What each owner's runs have spent per day, and what is reserved for those still running."""

    def reserve(self, owner: str, day: date, run: str, usd: float, *, limit: float) -> float:
        """Reserve `usd` for a run, or as much as is left of the owner's day; returns the amount reserved.

        However many runs reserve at once, what an owner has spent and reserved stays within `limit`. A
        second reservation for a run replaces the first.
        """

    def record(self, owner: str, day: date, run: str, usd: float) -> None:
        """Record what a run has cost in total, and release its reservation.

        It may be repeated, and a recorded amount is never lowered: a worker that has been overtaken
        knows less than its successor.
        """

    def spent(self, owner: str, day: date) -> float:
        """The sum over the owner's runs of that day: what each has cost or reserved, whichever is more."""


class StreamSlots(Protocol):
    """Limits how many streams of events are open at once, in all processes of a deployment together."""

    def take(self, *, seconds: float) -> str | None:
        """A slot, which is free again after this time at the latest; None if all are taken."""

    def release(self, slot: str) -> None: ...


Action: TypeAlias = "Callable[[], JsonObject]"


class Idempotency(Protocol):
    def once(
        self, owner: str, key: str, request: JsonObject, act: Action, *, seconds: float
    ) -> JsonObject:
        """Act once per owner and key; a repeated request gets the first response.

        Raises InvalidRequestError if the key was used with another request, and ConflictError while
        the first is still in progress, for at most `seconds`. If `act` raises, the key is free again.
        """
