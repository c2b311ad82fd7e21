"""Whether and when a call that failed is made again."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ExplorerError, ExternalError

T = TypeVar("T")

MAX_DOUBLINGS = 64  # more would overflow long before anybody had waited that long


def is_retryable(error: Exception) -> bool:
    return isinstance(error, ExplorerError) and error.retryable


@dataclass(frozen=True, slots=True)
class Retry:
    """The next attempt, after a pause. The first call is attempt 1."""

    error: Exception
    attempt: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Pauses grow by `factor` up to `longest`. A service that names a time is given exactly that, but
    never less than `shortest`. `jitter` is the share of a pause that is drawn at random, so that callers
    who failed together do not come back together."""

    first: float
    attempts: int | None = None  # without it, the caller's time limit ends the retries
    factor: float = 2.0
    longest: float = math.inf
    shortest: float = 0.0
    jitter: float = 0.0
    retry_on: Callable[[Exception], bool] = is_retryable

    def pause(self, failed: int, retry_after: float | None = None) -> float:
        """The seconds to wait after so many failed attempts."""
        if retry_after is not None:
            return max(retry_after, self.shortest)
        seconds = min(self.first * self.factor ** min(failed - 1, MAX_DOUBLINGS), self.longest)
        return seconds * (1 - self.jitter * random.random())  # noqa: S311  no secret depends on it

    def next(self, error: Exception, failed: int) -> Retry | None:
        """The next attempt, or None where it would not help or all attempts are used."""
        if not self.retry_on(error) or (self.attempts is not None and failed >= self.attempts):
            return None
        retry_after = error.retry_after if isinstance(error, ExternalError) else None
        return Retry(error, failed + 1, self.pause(failed, retry_after))


def retry(
    call: Callable[[], T],
    policy: RetryPolicy,
    clock: Clock,
    *,
    until: float = math.inf,
    wait: Callable[[Retry], None] | None = None,
) -> T:
    """Call until it succeeds. Raises the last error where the policy ends, or where the pause would end
    after `until`, a moment of the clock's `monotonic`. `wait` replaces the clock's sleep."""
    failed = 0
    while True:
        try:
            return call()
        except Exception as error:
            failed += 1
            again = policy.next(error, failed)
            if again is None or clock.monotonic() + again.seconds > until:
                raise
        if wait:
            wait(again)
        else:
            clock.sleep(again.seconds)
