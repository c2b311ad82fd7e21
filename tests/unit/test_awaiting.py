"""Waiting for what blocks: a wait can be given up, and nothing that comes late is left open."""

from threading import Event

import pytest

from idea_explorer.adapters.awaiting import awaited


class StoppedError(Exception):
    pass


def blocked(until: Event) -> str:
    assert until.wait(10)
    return "late"


def test_what_a_call_brings_or_raises_is_handed_on() -> None:
    def ignored(_: object) -> None: ...

    assert awaited(lambda: 1, lambda: None, grace_seconds=0, discard=ignored) == 1
    with pytest.raises(ZeroDivisionError):
        awaited(lambda: 1 / 0, lambda: None, grace_seconds=0, discard=ignored)


def test_a_wait_that_is_given_up_discards_what_comes_late() -> None:
    goes_on, discarded = Event(), Event()

    def stop() -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        awaited(lambda: blocked(goes_on), stop, grace_seconds=0, discard=lambda _: discarded.set())
    assert not discarded.is_set()
    goes_on.set()
    assert discarded.wait(10)


def test_what_comes_in_the_time_of_grace_is_not_lost() -> None:
    goes_on = Event()

    def stop() -> None:
        goes_on.set()
        raise StoppedError

    discarded: list[str] = []
    found = awaited(lambda: blocked(goes_on), stop, grace_seconds=10, discard=discarded.append)
    assert (found, discarded) == ("late", [])
