"""The events of a run on their way into its history."""

import gc
import threading
import time
import weakref
from collections.abc import Callable

import pytest

from idea_explorer.adapters.transcripts import Batch, LeasedTranscript
from idea_explorer.domain.errors import ExplorerError, LeaseLostError, UnavailableError
from idea_explorer.domain.events import ErrorEvent
from idea_explorer.usecases.run_events import Flusher

LOST = LeaseLostError("Another worker has it.")
LATE = ErrorEvent(code="TIMEOUT", message="Late.")
AWAY = UnavailableError("The store is not available.")


class Store:
    """Fails as it is told, then stores."""

    def __init__(self, *failures: ExplorerError) -> None:
        self.failures = list(failures)
        self.calls = 0
        self.last_at = 0.0

    def write(self, _: Batch) -> None:
        self.calls += 1
        self.last_at = time.monotonic()
        if self.failures:
            raise self.failures.pop(0)


class Counted(LeasedTranscript):
    flushes = 0

    def flush(self) -> None:
        self.flushes += 1
        super().flush()


class Run:
    """Adds events to a transcript."""

    def __init__(self, store: Store, seconds: float) -> None:
        self.transcript = Counted([], store.write)
        self.flusher = Flusher(self.transcript, seconds)

    def emit(self) -> None:
        self.transcript.add_event(LATE)
        self.flusher.schedule()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.002)


def test_what_was_scheduled_is_stored_in_time_by_threads_that_are_used_again() -> None:
    store = Store()
    run = Run(store, 0.005)
    before = threading.active_count()
    for round_number in range(1, 4):
        for _ in range(10):
            run.emit()
        wait_until(lambda seen=round_number: store.calls >= seen)  # type: ignore[misc]

    assert threading.active_count() <= before + 2  # one waits, the other stores
    run.flusher.close()


def test_nothing_is_stored_where_nothing_was_scheduled() -> None:
    store = Store()
    run = Run(store, 0.001)
    run.emit()
    wait_until(lambda: store.calls == 1)
    time.sleep(0.02)

    assert store.calls == 1
    run.flusher.close()


def test_an_alarm_stores_nothing_once_the_run_has_done_so() -> None:
    store = Store()
    run = Run(store, 0.001)
    run.transcript.add_event(LATE)
    run.transcript.flush()
    run.flusher.schedule()
    time.sleep(0.02)
    run.emit()
    wait_until(lambda: store.calls == 2)

    assert run.transcript.flushes == 2
    run.flusher.close()


def test_what_comes_after_the_run_has_stored_the_rest_has_the_whole_time() -> None:
    store, seconds = Store(), 0.1
    run = Run(store, seconds)
    run.emit()
    time.sleep(seconds / 2)
    run.transcript.flush()
    began, before = time.monotonic(), store.calls
    run.emit()
    wait_until(lambda: store.calls > before)

    assert store.last_at - began >= seconds
    run.flusher.close()


def test_a_store_that_cannot_be_reached_is_tried_again() -> None:
    store = Store(AWAY, AWAY)
    run = Run(store, 0.001)
    run.emit()

    wait_until(lambda: store.calls == 3)
    run.flusher.schedule()
    run.flusher.close()


def test_a_lease_that_is_lost_meanwhile_ends_the_run_at_its_next_event() -> None:
    run = Run(Store(LOST), 0.001)
    run.emit()

    with pytest.raises(LeaseLostError):
        wait_until(lambda: bool(run.flusher.schedule()))  # type: ignore[func-returns-value]


def test_the_transcript_of_a_run_that_has_ended_is_freed_at_once() -> None:
    """A cycle would keep it until garbage is looked for: a megabyte for every few runs of a process."""
    run = Run(Store(), 60.0)
    transcript = weakref.ref(run.transcript)
    gc.disable()
    try:
        run.emit()
        run.flusher.close()
        del run
        assert transcript() is None
    finally:
        gc.enable()
