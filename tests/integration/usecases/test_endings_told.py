"""Whoever sees a final status can read all of its events, and nobody reads one of them twice."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from idea_explorer.domain.errors import UnavailableError
from idea_explorer.domain.events import TextDelta
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.queue_messages import QueueMessage
from idea_explorer.domain.run import Receipt
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.dispatch import dispatch
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.publish import publish
from idea_explorer.usecases.settle import settle
from tests.fakes.deps import PRICED
from tests.fakes.dying import DyingTranscripts, KilledError
from tests.fakes.explorations import NOW, an_exploration
from tests.fakes.models import says, scripted
from tests.fakes.reports import business
from tests.fakes.service import FakeQueue, FakeWorkflow


class DiesAfterEnding:
    """A store whose process dies as soon as a record has an outcome or its final status."""

    def __init__(self, stores: Deps) -> None:
        self._inner = stores.explorations

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def save(self, exploration: Exploration, *events: Any) -> None:
        self._inner.save(exploration, *events)
        if exploration.run.outcome or exploration.is_final:
            raise KilledError

    def take_over(self, exploration_id: ExplorationId, *given: Any, **named: Any) -> Exploration:
        was_final = self._inner.load(exploration_id).is_final
        taken: Exploration = self._inner.take_over(exploration_id, *given, **named)
        if taken.is_final and not was_final:
            raise KilledError
        return taken


def dying(stores: Deps) -> Deps:
    def has_ended(exploration: Exploration) -> bool:
        return exploration.run.outcome is not None

    return replace(
        stores,
        explorations=DiesAfterEnding(stores),
        transcripts=DyingTranscripts(stores.transcripts, has_ended, after=True),
    )


def told(stores: Deps, exploration: Exploration) -> list[str]:
    return [event.type for event in stores.events.read(exploration.id)]


def statuses(stores: Deps, exploration: Exploration) -> list[str]:
    data = [json.loads(event.data) for event in stores.events.read(exploration.id)]
    return [event["to"] for event in data if event["type"] == "status_changed"]


def stored(stores: Deps, **changes: object) -> Exploration:
    exploration = an_exploration(**changes)  # type: ignore[arg-type]
    assert stores.explorations.create(exploration)
    return exploration


def running(stores: Deps, **changes: object) -> Exploration:
    return stored(stores, status="running", started_at=NOW, **changes)


def publish_on(stores: Deps, exploration: Exploration) -> Exploration:
    return publish(exploration.id, exploration.run.number, replace(stores, publisher=lambda: None))


def settle_on(stores: Deps, exploration: Exploration) -> Exploration:
    return settle(exploration.id, exploration.run.number, "broken", stores)


def cancel_on(stores: Deps, exploration: Exploration) -> Exploration:
    return cancel(exploration.id, exploration.owner, stores)


def fail_on(stores: Deps, exploration: Exploration) -> object:
    deps = replace(stores, queue=FakeQueue, workflow=FakeWorkflow)
    poison = json.dumps({"id": exploration.id, "run": 9})
    return dispatch(QueueMessage(id="m", body=poison, receives=1), deps)


def explore_on(stores: Deps, exploration: Exploration) -> Exploration:
    engine = Engine(
        model=scripted([says(business("Bees", "They pay.", "PIVOT"))]),
        toolset_for=lambda *_: research_tools(None, "web_search_20250305"),
    )
    deps = replace(stores, engine=lambda: engine, policy=PRICED)
    return explore(exploration.id, exploration.run.number, deps)


Ending = tuple[Callable[[Deps], Exploration], Callable[[Deps, Exploration], object], list[str]]
OUTCOME = {"outcome": "completed"}
BROKEN = Receipt(
    code="TIMEOUT", message="Late.", step=1, cost_usd=None, has_partial_text=True, resume=None
)
ENDINGS: dict[str, Ending] = {
    "published": (lambda s: running(s, **OUTCOME), publish_on, ["status_changed"]),
    "settled": (running, settle_on, ["error", "status_changed"]),
    "settled with a report that nobody published": (
        lambda s: running(s, outcome="partial", receipt=BROKEN),
        settle_on,
        ["error", "status_changed"],
    ),
    "cancelled in the queue": (stored, cancel_on, ["status_changed"]),
    "failed before its run": (stored, fail_on, ["error", "status_changed"]),
}


@pytest.mark.parametrize(("make", "end", "events"), ENDINGS.values(), ids=ENDINGS)
def test_a_final_status_has_its_events_even_if_its_process_dies_at_once(
    stores: Deps,
    make: Callable[[Deps], Exploration],
    end: Callable[[Deps, Exploration], object],
    events: list[str],
) -> None:
    exploration = make(stores)

    with pytest.raises(KilledError):
        end(dying(stores), exploration)

    ended = stores.explorations.load(exploration.id)
    assert ended.is_final
    assert told(stores, exploration) == events
    assert statuses(stores, exploration) == [ended.status]


@pytest.mark.parametrize("name", ["published", "settled", "cancelled in the queue"])
def test_an_ending_that_is_repeated_is_told_once(stores: Deps, name: str) -> None:
    make, end, events = ENDINGS[name]
    exploration = make(stores)
    with pytest.raises(KilledError):
        end(dying(stores), exploration)

    for _ in range(3):
        end(stores, exploration)

    assert told(stores, exploration) == events


def test_what_a_run_came_to_is_told_even_if_its_process_dies_at_once(stores: Deps) -> None:
    exploration = stored(stores)
    with pytest.raises(KilledError):
        explore_on(dying(stores), exploration)

    for _ in range(2):
        explore_on(stores, exploration)

    kinds = told(stores, exploration)
    assert kinds.count("message_end") == 1
    assert kinds[-1] == "message_end"
    assert "text_delta" in kinds  # the words before it are not left behind
    assert statuses(stores, exploration) == ["running"]


def test_a_write_that_fails_leaves_neither_status_nor_events(stores: Deps) -> None:
    exploration = running(stores, **OUTCOME)
    taken = stores.explorations.take_over(exploration.id, lambda e: e)

    def events() -> Any:
        yield TextDelta(content="told")
        raise UnavailableError("The store went away.")

    with pytest.raises(UnavailableError):
        stores.explorations.save(taken.finished("completed", at=NOW), events())

    assert stores.explorations.load(exploration.id).status == "running"
    assert told(stores, exploration) == []


def test_a_record_is_created_with_its_first_events_once(stores: Deps) -> None:
    done = an_exploration(status="completed")
    first = [TextDelta(content="one"), TextDelta(content="two")]

    assert stores.explorations.create(done, first)
    assert not stores.explorations.create(done, first)

    assert told(stores, done) == ["text_delta", "text_delta"]


def test_events_of_many_writers_are_numbered_without_gap_or_repeat(stores: Deps) -> None:
    taken = stores.explorations.take_over(running(stores).id, lambda e: e)

    def write(number: int) -> None:
        if number % 2:
            stores.events.append(taken.id, taken.lease, TextDelta(content=str(number)))
        else:
            two = [TextDelta(content=f"{number}a"), TextDelta(content=f"{number}b")]
            stores.explorations.save(taken, two)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(20)))

    events = stores.events.read(taken.id)
    assert [event.number for event in events] == list(range(1, 31))
    words = [json.loads(event.data)["content"] for event in events]
    assert len(set(words)) == 30
    assert all(words[words.index(f"{n}a") + 1] == f"{n}b" for n in range(0, 20, 2))
