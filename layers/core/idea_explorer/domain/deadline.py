"""Time as a value: a moment on a clock, and what is left until then."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

MIN_RESERVE_SECONDS = 45.0  # writing a report takes about this long
RESERVE_SHARE = 0.4
MAX_RESERVE_SHARE = 0.6  # a short deadline still leaves time to gather
OUTPUT_TOKENS_PER_SECOND = 50  # what the slowest model writes in a second
WRITE_MARGIN_SECONDS = 2.0  # kept of the deadline to store and settle what was written


class Clock(Protocol):
    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which nothing may go on, and the share of the time before it kept for writing."""

    clock: Clock
    at: float
    reserve: float

    @classmethod
    def after(cls, clock: Clock, *, seconds: float, of: float | None = None) -> "Deadline":
        """`seconds` from now; `of` is the whole deadline when part of it has passed already."""
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
    """The time kept for writing: at least 45 s or 40 %, but never more than 60 % of the whole."""
    wanted = max(MIN_RESERVE_SECONDS, RESERVE_SHARE * deadline_seconds)
    return min(wanted, MAX_RESERVE_SHARE * deadline_seconds)
