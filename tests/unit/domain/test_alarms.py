"""Calls that are made a little later."""

import os
import queue
import threading
import weakref
from collections.abc import Callable

import pytest

from idea_explorer.domain.alarms import ALARMS, Alarms
from idea_explorer.domain.threads import run_in_thread


def test_alarms_ring_in_the_order_of_their_times() -> None:
    rung: queue.SimpleQueue[str] = queue.SimpleQueue()
    alarms = Alarms()
    alarms.call_later(0.2, lambda: rung.put("late"))
    alarms.call_later(0.02, lambda: rung.put("early"))

    assert [rung.get(timeout=60) for _ in range(2)] == ["early", "late"]


def test_a_cancelled_alarm_does_not_ring() -> None:
    rung: queue.SimpleQueue[str] = queue.SimpleQueue()
    alarms = Alarms()
    alarms.call_later(0.01, lambda: rung.put("cancelled")).cancel()
    alarms.call_later(0.05, lambda: rung.put("kept"))

    assert rung.get(timeout=60) == "kept"
    assert rung.empty()


def test_a_call_that_can_wait_when_it_is_due_is_made_later() -> None:
    rung: queue.SimpleQueue[str] = queue.SimpleQueue()
    waits = [0.05, 0.0]
    alarms = Alarms()
    alarms.call_later(0.01, lambda: rung.put("waited"), lambda: waits.pop(0))
    alarms.call_later(0.02, lambda: rung.put("meanwhile"))

    assert [rung.get(timeout=5) for _ in range(2)] == ["meanwhile", "waited"]
    assert not waits


def test_a_call_that_is_not_needed_when_it_is_due_is_not_made() -> None:
    rung: queue.SimpleQueue[str] = queue.SimpleQueue()
    alarms = Alarms()
    alarms.call_later(0.01, lambda: rung.put("needless"), lambda: None)
    alarms.call_later(0.05, lambda: rung.put("kept"))

    assert rung.get(timeout=5) == "kept"
    assert rung.empty()


def test_a_call_that_takes_long_does_not_delay_the_others() -> None:
    rung = threading.Event()
    release = threading.Event()
    alarms = Alarms()

    def wait() -> None:
        release.wait(5)

    alarms.call_later(0.0, wait)
    alarms.call_later(0.02, rung.set)

    assert rung.wait(2)
    release.set()


def test_a_thread_that_cannot_be_started_stops_no_later_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """First the thread that waits for alarms, then the one of a call."""
    rung: queue.SimpleQueue[str] = queue.SimpleQueue()
    alarms = Alarms()
    refused = {"alarms"}

    def run(call: Callable[[], None], *, name: str) -> None:
        if name in refused:
            raise RuntimeError("can't start new thread")
        run_in_thread(call, name=name)

    monkeypatch.setattr("idea_explorer.domain.alarms.run_in_thread", run)
    with pytest.raises(RuntimeError):
        alarms.call_later(0.0, lambda: rung.put("of nobody"))
    refused = {"alarm"}
    alarms.call_later(0.0, lambda: rung.put("without a thread"))
    assert rung.get(timeout=60) == "without a thread"
    refused = set()
    alarms.call_later(0.0, lambda: rung.put("with one"))

    assert rung.get(timeout=60) == "with one"


def test_alarms_share_one_thread_however_many_are_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[str] = []
    start = threading.Thread.start

    def count(thread: threading.Thread) -> None:
        started.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", count)
    alarms = Alarms()
    for _ in range(200):
        alarms.call_later(0.05, lambda: None).cancel()

    assert len(started) <= 1


def test_an_alarm_is_not_kept_once_it_was_due() -> None:
    class Large:
        def time_left(self) -> None:
            due.set()

    due = threading.Event()
    alarms = Alarms()
    large = Large()
    freed = threading.Event()
    weakref.finalize(large, freed.set)
    alarms.call_later(0.01, lambda: None, large.time_left)
    del large

    assert due.wait(60)
    assert freed.wait(0.5)  # while the thread waits for another alarm


def test_an_alarm_rings_in_a_process_that_was_forked_from_one_that_has_alarms() -> None:
    rung = threading.Event()
    ALARMS.call_later(0.0, rung.set)
    assert rung.wait(60)

    if (pid := os.fork()) == 0:
        try:
            in_child = threading.Event()
            ALARMS.call_later(0.0, in_child.set)
            os._exit(0 if in_child.wait(5) else 1)
        finally:
            os._exit(2)  # whatever is raised: the child must not go on with the tests

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
