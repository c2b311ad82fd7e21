"""The events of a run on their way into its history."""

import threading
import time
from collections.abc import Callable

import pytest

from idea_explorer.domain.errors import ExplorerError, LeaseLostError, UnavailableError
from idea_explorer.usecases.run_events import Flusher

LOST = LeaseLostError("Another worker has it.")
AWAY = UnavailableError("The store is not available.")


class Store:
    """Fails as it is told, then stores."""

    def __init__(self, *failures: ExplorerError) -> None:
        self.failures = list(failures)
        self.calls = 0

    def flush(self) -> None:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.002)


def test_what_was_scheduled_is_stored_in_time_by_threads_that_are_used_again() -> None:
    store = Store()
    flusher = Flusher(store.flush, 0.005)
    before = threading.active_count()
    for round_number in range(1, 4):
        for _ in range(10):
            flusher.schedule()
        wait_until(lambda seen=round_number: store.calls >= seen)  # type: ignore[misc]

    assert threading.active_count() <= before + 2  # one waits, the other stores
    flusher.close()


def test_nothing_is_stored_where_nothing_was_scheduled() -> None:
    store = Store()
    flusher = Flusher(store.flush, 0.001)
    flusher.schedule()
    wait_until(lambda: store.calls == 1)
    time.sleep(0.02)

    assert store.calls == 1
    flusher.close()


def test_a_store_that_cannot_be_reached_is_tried_again() -> None:
    store = Store(AWAY, AWAY)
    flusher = Flusher(store.flush, 0.001)
    flusher.schedule()

    wait_until(lambda: store.calls == 3)
    flusher.schedule()
    flusher.close()


def test_a_lease_that_is_lost_meanwhile_ends_the_run_at_its_next_event() -> None:
    flusher = Flusher(Store(LOST).flush, 0.001)
    flusher.schedule()

    with pytest.raises(LeaseLostError):
        wait_until(lambda: bool(flusher.schedule()))  # type: ignore[func-returns-value]
