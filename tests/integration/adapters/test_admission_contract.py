"""What every store promises about waiting and slots, asked of each in the same words."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from idea_explorer.domain.errors import ConflictError, NoFreeSlotError
from idea_explorer.domain.events import StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.usecases.deps import Deps
from tests.fakes.explorations import NOW, an_exploration

LATER = NOW + timedelta(hours=1)
STARTED = StatusChanged(from_="queued", to="running")


def queued(stores: Deps, *, owner: str = "ada", minutes: float = 0) -> Exploration:
    exploration = an_exploration(owner=owner, minutes=minutes)
    assert stores.explorations.create(exploration)
    return exploration


def start(stores: Deps, exploration: Exploration, slots: int = 5) -> Exploration:
    return stores.explorations.take_over(
        exploration.id, lambda e: e.started(at=LATER), lambda *_: [STARTED], slots=slots
    )


def waiting(stores: Deps) -> list[tuple[ExplorationId, str]]:
    found = sorted(stores.admission.longest_waiting(), key=lambda w: w.since)
    return [(w.id, w.owner) for w in found]


def holders(stores: Deps) -> set[ExplorationId]:
    return set(stores.admission.slots().holders)


def test_of_each_owner_the_longest_waiting_is_found(stores: Deps) -> None:
    second = queued(stores, owner="bob # 1", minutes=2)
    first = queued(stores, owner="ada", minutes=1)
    for n in range(60):
        queued(stores, owner="ada", minutes=10 + n)
        queued(stores, owner="zoë", minutes=100 + n)
    queued(stores, owner="bob # 1", minutes=3)
    third = queued(stores, owner="zoë", minutes=4)

    assert waiting(stores) == [(first.id, "ada"), (second.id, "bob # 1"), (third.id, "zoë")]
    assert stores.admission.count_waiting() == 124
    assert [w.id for w in stores.admission.longest_waiting("zoë")] == [third.id]
    assert stores.admission.longest_waiting("nobody") == []
    (since,) = [w.since for w in stores.admission.longest_waiting() if w.id == first.id]
    assert since == first.created_at


def test_whoever_stops_waiting_is_no_longer_listed(stores: Deps) -> None:
    started, cancelled, failed = (queued(stores, minutes=n) for n in range(3))
    start(stores, started)
    stores.explorations.take_over(cancelled.id, lambda e: e.finished("cancelled", at=LATER))
    stores.explorations.take_over(failed.id, lambda e: e.finished("failed", at=LATER))

    assert waiting(stores) == []
    assert stores.admission.count_waiting() == 0


def test_a_resumed_one_waits_since_its_resume(stores: Deps) -> None:
    exploration = queued(stores)
    stores.explorations.take_over(exploration.id, lambda e: e.finished("failed", at=LATER))
    later = LATER + timedelta(minutes=5)

    stores.explorations.take_over(exploration.id, lambda e: e.moved("queued", at=later))

    (found,) = stores.admission.longest_waiting()
    assert (found.id, found.since) == (exploration.id, later)


def test_one_that_a_command_runs_itself_is_not_listed(stores: Deps) -> None:
    assert stores.explorations.create(an_exploration(by_command=True))

    assert waiting(stores) == []


def test_a_decided_one_is_listed_while_it_waits_to_go_on(stores: Deps) -> None:
    running = start(stores, queued(stores))
    stores.explorations.save(running.moved("awaiting_approval", at=LATER, awaiting_since=LATER))
    assert waiting(stores) == []

    stores.explorations.take_over(running.id, lambda e: e.replace(decided_at=LATER))
    assert waiting(stores) == [(running.id, "ada")]

    start(stores, running)
    assert waiting(stores) == []


def test_starting_takes_a_slot_and_events_with_it(stores: Deps) -> None:
    exploration = queued(stores)

    start(stores, exploration)

    assert stores.admission.slots().holders == {exploration.id: "ada"}
    assert [event.type for event in stores.events.read(exploration.id)] == ["status_changed"]


def test_the_last_start_of_an_owner_is_known(stores: Deps) -> None:
    start(stores, queued(stores, owner="ada"))
    queued(stores, owner="ada", minutes=1)
    queued(stores, owner="bob", minutes=2)

    found = {w.owner: w.owner_started for w in stores.admission.longest_waiting()}

    assert found == {"ada": LATER, "bob": None}


def test_without_a_free_slot_nothing_changes(stores: Deps) -> None:
    held, refused = queued(stores), queued(stores, minutes=1)
    start(stores, held, slots=1)

    with pytest.raises(NoFreeSlotError):
        start(stores, refused, slots=1)

    assert stores.explorations.load(refused.id).status == "queued"
    assert waiting(stores) == [(refused.id, "ada")]
    assert stores.events.read(refused.id) == []
    assert holders(stores) == {held.id}


def _published(e: Exploration) -> Exploration:
    return e.replace(outcome="completed")


def _suspended(e: Exploration) -> Exploration:
    return e.moved("awaiting_approval", at=LATER)


def _failed(e: Exploration) -> Exploration:
    return e.finished("failed", at=LATER)


@pytest.mark.parametrize("change", [_published, _suspended, _failed])
@pytest.mark.parametrize("by", ["save", "take_over"])
def test_whatever_ends_the_exploring_frees_the_slot(
    stores: Deps, change: Callable[[Exploration], Exploration], by: str
) -> None:
    running, other = start(stores, queued(stores)), start(stores, queued(stores, minutes=1))

    if by == "save":
        stores.explorations.save(change(running))
    else:
        stores.explorations.take_over(running.id, change)

    assert holders(stores) == {other.id}


def test_progress_and_a_second_worker_leave_the_slot_taken(stores: Deps) -> None:
    running = start(stores, queued(stores))
    stores.explorations.save(running.replace(deadline_at=LATER))
    stores.explorations.take_over(running.id, lambda e: e.replace(deadline_at=LATER))

    assert holders(stores) == {running.id}


def test_a_change_without_slots_takes_none(stores: Deps) -> None:
    exploration = queued(stores)

    stores.explorations.take_over(exploration.id, lambda e: e.started(at=LATER))

    assert holders(stores) == set()


def test_never_more_hold_a_slot_than_there_are_however_many_try_at_once(stores: Deps) -> None:
    explorations = [queued(stores, minutes=n) for n in range(12)]

    def attempt(exploration: Exploration) -> bool:
        try:
            start(stores, exploration, slots=5)
        except NoFreeSlotError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        started = list(pool.map(attempt, explorations))

    assert sum(started) == 5
    assert len(holders(stores)) == 5
    assert stores.admission.count_waiting() == 7


def test_only_one_of_two_that_start_the_same_succeeds(stores: Deps) -> None:
    exploration = queued(stores)
    start(stores, exploration)

    with pytest.raises(ConflictError):
        start(stores, exploration)
    assert holders(stores) == {exploration.id}


def test_while_paused_nobody_gets_a_slot(stores: Deps) -> None:
    exploration = queued(stores)
    stores.admission.set_paused(True)
    stores.admission.set_paused(True)
    assert stores.admission.slots().paused

    with pytest.raises(NoFreeSlotError):
        start(stores, exploration)

    stores.admission.set_paused(False)
    assert not stores.admission.slots().paused
    start(stores, exploration)


def test_a_lost_entry_is_added_once_and_a_wrong_one_forgotten(stores: Deps) -> None:
    exploration = queued(stores)
    (entry,) = stores.admission.longest_waiting()
    assert stores.admission.add_waiting([exploration]) == 0

    stores.admission.forget(entry)
    assert waiting(stores) == []

    ended = exploration.finished("failed", at=LATER)
    assert stores.admission.add_waiting([exploration, ended]) == 1
    assert waiting(stores) == [(exploration.id, "ada")]


def test_slots_of_those_that_explore_are_not_freed(stores: Deps) -> None:
    running = start(stores, queued(stores))

    assert stores.admission.free_stale_slots() == 0
    assert holders(stores) == {running.id}
