"""A clock that tests move by hand. Sleeping moves it."""

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
