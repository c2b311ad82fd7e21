"""Deadlines: time as a value."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

MIN_RESERVE_SECONDS = 45.0  # writing a report takes about this long
RESERVE_SHARE = 0.4
MAX_RESERVE_SHARE = 0.6  # leaves time to gather before a short deadline
OUTPUT_TOKENS_PER_SECOND = 50  # of the slowest model
WRITE_MARGIN_SECONDS = 2.0  # to store and settle the report before the deadline


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
