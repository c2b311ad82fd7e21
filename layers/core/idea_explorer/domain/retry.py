"""Whether and when a call that failed is made again."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ExplorerError, ExternalError
from idea_explorer.domain.patterns import lazy_pattern

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
        return seconds * (1 - self.jitter * random.random())  # noqa: S311  not a secret  # nosec B311

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


SLICE_SECONDS = 1.0  # how soon a cancel ends a pause


def sleep_unless(cancelled: Callable[[], bool], seconds: float, clock: Clock) -> bool:
    """Sleep until the time is over, or somebody cancels; whether that was so."""
    left = seconds
    while left > 0:
        clock.sleep(min(left, SLICE_SECONDS))
        left -= SLICE_SECONDS
        if cancelled():
            return True
    return cancelled()


LONGEST_SECONDS = 86_400.0  # no caller waits longer
_SECONDS = lazy_pattern(r"\d+(\.\d+)?")


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds in `Retry-After`, which may be a number or a date; None without it. A date is compared
    with the service's own clock if the response has a `Date`. Header names are in lower case."""
    asked = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(asked):
        return _clamp(float(asked))
    moment = _date(asked)
    return None if moment is None else _clamp((moment - _now(headers, now)).total_seconds())


def parse_quota_reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds until an exhausted quota resets, by `x-ratelimit-…`; None if it is not exhausted."""
    reset = headers.get("x-ratelimit-reset", "").strip()
    if headers.get("x-ratelimit-remaining", "").strip() != "0" or not _SECONDS.fullmatch(reset):
        return None
    return max(1.0, _clamp(float(reset) - _now(headers, now).timestamp()))


def _clamp(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_SECONDS) if math.isfinite(seconds) else LONGEST_SECONDS


def _now(headers: Mapping[str, str], now: datetime) -> datetime:
    return _date(headers.get("date", "")) or now


def _date(text: str) -> datetime | None:
    try:
        from email.utils import parsedate_to_datetime

        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    # a date with the zone "-0000" is parsed without a zone, and means UTC
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
