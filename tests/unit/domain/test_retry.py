"""When a call that failed is made again, and when it is not."""

import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.domain.errors import (
    ConflictError,
    NetworkError,
    RateLimitedError,
    UnavailableError,
)
from idea_explorer.domain.retry import Retry, RetryPolicy, retry
from tests.fakes.clock import ManualClock

DOWN = UnavailableError("Down.")


def failing(*errors: Exception) -> Callable[[], str]:
    """Fails with each of the errors, then succeeds."""
    left: Iterator[Exception] = iter(errors)

    def call() -> str:
        for error in left:
            raise error
        return "done"

    return call


@pytest.mark.parametrize(
    ("policy", "pauses"),
    [
        (RetryPolicy(first=1.0), [1.0, 2.0, 4.0, 8.0]),
        (RetryPolicy(first=1.0, longest=3.0), [1.0, 2.0, 3.0, 3.0]),
        (RetryPolicy(first=1.5, factor=1.0), [1.5, 1.5, 1.5, 1.5]),
    ],
)
def test_pauses_grow_up_to_the_longest(policy: RetryPolicy, pauses: list[float]) -> None:
    clock = ManualClock()

    assert retry(failing(*[DOWN] * 4), policy, clock) == "done"
    assert clock.slept == pauses


def test_the_last_error_is_raised_when_all_attempts_are_used() -> None:
    clock, last = ManualClock(), NetworkError("Reset.")

    with pytest.raises(NetworkError) as raised:
        retry(failing(DOWN, DOWN, last), RetryPolicy(first=1.0, attempts=3), clock)

    assert raised.value is last
    assert clock.slept == [1.0, 2.0]


@pytest.mark.parametrize("error", [ConflictError("No."), ValueError("a bug")])
def test_what_would_fail_again_is_not_called_again(error: Exception) -> None:
    clock = ManualClock()

    with pytest.raises(type(error)):
        retry(failing(error), RetryPolicy(first=1.0), clock)

    assert clock.slept == []


def test_a_policy_may_name_other_errors() -> None:
    policy = RetryPolicy(first=1.0, retry_on=lambda error: isinstance(error, KeyError))

    assert retry(failing(KeyError()), policy, ManualClock()) == "done"
    with pytest.raises(UnavailableError):
        retry(failing(DOWN), policy, ManualClock())


@pytest.mark.parametrize(("asked", "waited"), [(30.0, 30.0), (0.0, 0.5), (-1.0, 0.5)])
def test_a_service_that_names_a_time_is_given_it(asked: float, waited: float) -> None:
    clock, limited = ManualClock(), RateLimitedError("Slow down.", retry_after=asked)

    retry(failing(limited, DOWN), RetryPolicy(first=1.0, longest=2.0, shortest=0.5), clock)

    assert clock.slept == [waited, 2.0]


def test_no_pause_goes_past_the_deadline() -> None:
    clock = ManualClock()

    with pytest.raises(UnavailableError):
        retry(failing(*[DOWN] * 9), RetryPolicy(first=1.0), clock, until=clock.monotonic() + 7.0)

    assert clock.slept == [1.0, 2.0, 4.0]


def test_whoever_waits_otherwise_is_given_the_error_and_the_next_attempt() -> None:
    clock, waits = ManualClock(), list[Retry]()

    retry(failing(DOWN, DOWN), RetryPolicy(first=1.0), clock, wait=waits.append)

    assert waits == [Retry(DOWN, 2, 1.0), Retry(DOWN, 3, 2.0)]
    assert clock.slept == []


@settings(deadline=None)
@given(failed=st.integers(1, 10_000), jitter=st.floats(0, 1))
def test_jitter_shortens_a_pause_by_no_more_than_its_share(failed: int, jitter: float) -> None:
    longest = RetryPolicy(first=0.02, longest=1.0).pause(failed)
    pause = RetryPolicy(first=0.02, longest=1.0, jitter=jitter).pause(failed)

    assert (1 - jitter) * longest - 1e-9 <= pause <= longest <= 1.0


def test_pauses_with_jitter_differ() -> None:
    policy = RetryPolicy(first=1.0, jitter=1.0)

    assert len({policy.pause(1) for _ in range(10)}) > 1
    assert math.isfinite(RetryPolicy(first=1.0).pause(1_000_000))
