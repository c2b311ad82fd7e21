"""Time as a value, and a time limit for calls that have none of their own."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from idea_explorer.domain.threads import run_in_thread

MIN_RESERVE_SECONDS = 45.0  # writing a report takes about this long
RESERVE_SHARE = 0.4
MAX_RESERVE_SHARE = 0.6  # leaves time to gather before a short deadline
OUTPUT_TOKENS_PER_SECOND = 50  # of the slowest model
WRITE_MARGIN_SECONDS = 2.0  # to store and settle the report before the deadline
MAX_INIT_SECONDS = 10.0  # Lambda lets a function initialize for this long


class Clock(Protocol):
    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a run, and how much of the time before it is reserved for writing."""

    clock: Clock
    at: float
    reserve: float

    @classmethod
    def after(cls, clock: Clock, *, seconds: float, of: float | None = None) -> "Deadline":
        """`seconds` from now; `of` is the whole deadline if part of it has passed already."""
        return cls(clock, clock.monotonic() + seconds, write_reserve(of or seconds))

    @property
    def left(self) -> float:
        return self.at - self.clock.monotonic()

    @property
    def gathering_left(self) -> float:
        return self.left - self.reserve

    @property
    def must_write(self) -> bool:
        return self.gathering_left <= 0

    @property
    def passed(self) -> bool:
        return self.left <= 0


def write_reserve(deadline_seconds: float) -> float:
    """The seconds reserved for writing: at least 45 s or 40 %, but at most 60 % of the deadline."""
    wanted = max(MIN_RESERVE_SECONDS, RESERVE_SHARE * deadline_seconds)
    return min(wanted, MAX_RESERVE_SHARE * deadline_seconds)


@dataclass(frozen=True, slots=True)
class TaskStart:
    """When the workflow entered the state that made this call, by its own clock, and how often it has
    repeated the call since."""

    entered_at: datetime
    retries: int = 0


def task_timeout(task: TaskStart | None, seconds: float, now: datetime) -> datetime:
    """When a call that may take this long times out.

    The timeout counts from the start of an attempt. That of the first is when the state was entered; that
    of a later one is not known, but a cold start is all that can have passed of it. Clocks differ: never
    more than the whole deadline is left, and never less than nothing.
    """
    passed = (now - task.entered_at).total_seconds() if task else 0.0
    if task and task.retries:
        passed = min(passed, MAX_INIT_SECONDS)
    return now + timedelta(seconds=seconds - min(max(passed, 0.0), seconds))


T = TypeVar("T")


class TimeLimitExceededError(Exception):
    """Not the builtin TimeoutError, which the call itself may raise."""


class _Call:
    """A call in a thread of its own."""

    is_abandoned = False  # nobody waits for it any more


class _Current(threading.local):
    """The call that runs in this thread, if any."""

    call: _Call | None = None


_current = _Current()


def run_with_time_limit(call: Callable[[], T], seconds: float, *, name: str) -> T:
    """Run a call in a thread of this name, and return or raise what it does. Raises TimeLimitExceededError
    when the time is up. A thread cannot be stopped: the call goes on in a daemon thread until it next asks
    check_time_limit, and its result is dropped."""
    results: list[T] = []
    errors: list[BaseException] = []
    this = _Call()
    running = threading.Lock()
    running.acquire()

    def run() -> None:
        _current.call = this
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            errors.append(error)
        _current.call = None
        running.release()

    run_in_thread(run, name=name)
    running.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX))
    if errors:
        raise errors[0]
    if not results:
        this.is_abandoned = True
        raise TimeLimitExceededError(name)
    return results[0]


def check_time_limit() -> None:
    """Raise TimeLimitExceededError in a call whose time is up. Whatever may take long asks now and then,
    so that it does not go on using the processor."""
    if is_abandoned():
        raise TimeLimitExceededError(threading.current_thread().name)


def is_abandoned() -> bool:
    """Whether nobody waits any more for the call that runs in this thread."""
    return _current.call is not None and _current.call.is_abandoned
