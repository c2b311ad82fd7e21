"""A call is waited for until its time is up, and no longer."""

import threading
import time

import pytest

from idea_explorer.domain.deadline import (
    TimeLimitExceededError,
    check_time_limit,
    run_with_time_limit,
)


def test_what_ends_in_time_returns_its_result() -> None:
    assert run_with_time_limit(lambda: threading.current_thread().name, 5, name="look-up") == (
        "look-up"
    )
    assert run_with_time_limit(lambda: None, float("inf"), name="nothing") is None


def test_what_hangs_is_not_waited_for() -> None:
    release = threading.Event()
    began = time.monotonic()

    with pytest.raises(TimeLimitExceededError):
        run_with_time_limit(release.wait, 0.05, name="hangs")

    assert time.monotonic() - began < 5
    (left,) = [thread for thread in threading.enumerate() if thread.name == "hangs"]
    assert left.daemon
    release.set()
    until = time.monotonic() + 60
    while left.name == "hangs":
        assert time.monotonic() < until, "the thread is not given back"
        time.sleep(0.005)


@pytest.mark.parametrize("error", [ValueError("wrong"), TimeoutError("its own"), SystemExit(1)])
def test_what_the_call_raises_is_raised(error: BaseException) -> None:
    def call() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        run_with_time_limit(call, 5, name="fails")

    assert raised.value is error


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_without_any_time_there_is_no_result(seconds: float) -> None:
    release = threading.Event()
    with pytest.raises(TimeLimitExceededError):
        run_with_time_limit(release.wait, seconds, name="late")
    release.set()


def test_a_call_that_nobody_waits_for_ends_where_it_asks() -> None:
    ended = threading.Event()

    def work() -> None:
        try:
            while True:
                check_time_limit()
        finally:
            ended.set()

    with pytest.raises(TimeLimitExceededError):
        run_with_time_limit(work, 0.05, name="works on")

    assert ended.wait(5)
    check_time_limit()  # here, nobody has set a limit
