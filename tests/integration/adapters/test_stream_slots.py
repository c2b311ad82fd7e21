"""How many streams of events a deployment has open at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.dynamodb.streams import DynamoStreamSlots
from idea_explorer.adapters.dynamodb.table import Table
from idea_explorer.settings import Settings
from tests.fakes.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def slots(aws: Settings, clock: ManualClock) -> DynamoStreamSlots:
    table = Table(str(aws.table_name), lambda: client("dynamodb"), clock)
    return DynamoStreamSlots(table, clock, 2)


def test_no_more_are_open_than_allowed(slots: DynamoStreamSlots) -> None:
    first, second = slots.take(seconds=60), slots.take(seconds=60)
    assert first
    assert second
    assert slots.take(seconds=60) is None

    slots.release(first)
    third = slots.take(seconds=60)
    assert third
    assert slots.take(seconds=60) is None

    for slot in (second, third, third):
        slots.release(slot)
    assert slots.take(seconds=60)


def test_a_slot_that_was_never_released_is_free_after_its_time(
    slots: DynamoStreamSlots, clock: ManualClock
) -> None:
    slots.take(seconds=60)
    slots.take(seconds=90)
    clock.pass_time(59)
    assert slots.take(seconds=60) is None

    clock.pass_time(2)
    assert slots.take(seconds=60)
    assert slots.take(seconds=60) is None


def test_of_many_at_once_only_so_many_get_one(slots: DynamoStreamSlots) -> None:
    start = threading.Barrier(6)

    def take(_: int) -> str | None:
        start.wait()
        return slots.take(seconds=60)

    with ThreadPoolExecutor(6) as pool:
        taken = [slot for slot in pool.map(take, range(6)) if slot]

    assert 1 <= len(taken) <= 2
