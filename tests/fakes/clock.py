"""Clocks for which nobody waits: one that tests move by hand, and the machine's, moved by its sleeping."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)


@dataclass
class ManualClock:
    elapsed: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.elapsed)

    def monotonic(self) -> float:
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.elapsed += seconds

    def pass_time(self, seconds: float) -> None:
        self.elapsed += seconds


class QuickTime:
    """In place of the module `time` of adapters/clock.py: pauses between attempts are over at once, and count
    as if they had been waited for."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._skipped

    def sleep(self, seconds: float) -> None:
        self._skipped += seconds
