"""What followers of explorations cost a deployment: executions of the API held, delay of events, price.

    python -m tests.performance.following

Runs the command line's client against the API in process, on a clock that only moves when somebody
waits: once with calls that wait for events for 20 s, as `idea serve` answers, and once with calls that
answer at once, as a deployment does.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from idea_explorer.api.app import build_handler
from idea_explorer.cli.targets.client import ApiClient
from idea_explorer.cli.targets.deployment import DeploymentTarget
from idea_explorer.domain.events import TextDelta
from tests.fakes.api import Api
from tests.fakes.clock import ManualClock

CALL_SECONDS = 0.05  # a warm call of four reads
HOUR = 3_600.0
NEW_ACCOUNT = 10  # concurrent executions of all functions
LONG_POLL, AT_ONCE = 20.0, 0.0

# US dollars in us-east-1, November 2026: a gigabyte-second on arm64, a million requests to a function and
# to a REST API, and a million strongly consistent reads on demand
GIGABYTE_SECOND = 0.0000133334
REQUEST = (0.20 + 3.50) / 1_000_000
READ = 0.125 / 1_000_000
API_GIGABYTES = 1.0  # MemorySize of ApiFunction


@dataclass
class Schedule(ManualClock):
    """A clock that lets events of a run happen when their time comes."""

    due: list[float] = field(default_factory=list)
    happen: Callable[[str], None] = print

    def sleep(self, seconds: float) -> None:
        until = self.elapsed + max(seconds, 0.001)  # a shorter sleep would be lost in rounding
        while self.due and self.due[0] <= until:
            self.elapsed = self.due.pop(0)
            self.happen(str(self.elapsed))
        self.elapsed = until


@dataclass
class Counted:
    """A store that counts how often it is asked."""

    inner: Any
    reads: list[str]

    def __getattr__(self, name: str) -> Any:
        self.reads.append(name)
        return getattr(self.inner, name)


@dataclass(frozen=True)
class Cost:
    """What one follower took in `seconds` of following. `delays`: how late each event was seen."""

    seconds: float
    calls: int
    held_seconds: float
    reads: int
    delays: Sequence[float]

    @property
    def executions(self) -> float:
        """How many executions of the API it holds at any moment, on average."""
        return self.held_seconds / self.seconds

    @property
    def usd_per_hour(self) -> float:
        spent = (
            self.calls * REQUEST
            + self.held_seconds * API_GIGABYTES * GIGABYTE_SECOND
            + self.reads * READ
        )
        return spent / self.seconds * HOUR


class InProcess:
    """The part of the API's client that following uses. Ends the stream when the time is over."""

    def __init__(self, api: Api, clock: Schedule, seconds: float) -> None:
        self._api, self._clock, self._seconds = api, clock, seconds
        self.calls = 0
        self.held = 0.0

    def path(self, exploration_id: str, resource: str) -> str:
        return f"/explorations/{exploration_id}/{resource}"

    def stream(self, path: str, last_event_id: int) -> Iterator[str] | None:
        if self._clock.elapsed >= self._seconds:
            return None
        began = self._clock.elapsed
        self._clock.sleep(CALL_SECONDS)
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last_event_id)}
        reply = self._api.get(path, headers=headers)
        assert reply.status == 200, reply.text
        self.calls += 1
        self.held += self._clock.elapsed - began
        return iter(reply.text.split("\n\n"))


def follow_for(
    seconds: float, event_times: Sequence[float], *, wait_seconds: float, queued: bool = False
) -> Cost:
    """Follow an exploration that has these events; `queued`: one that waits for a worker."""
    with tempfile.TemporaryDirectory() as folder:
        api = Api(Path(folder))
        exploration = api.submitted()
        reads: list[str] = []
        running = exploration if queued else api.run_to(exploration, "running")
        clock = Schedule(
            due=list(event_times),
            happen=lambda time: api.emit(running, TextDelta(content=time)),
        )
        api.handle = build_handler(
            replace(
                api.deps,
                clock=clock,
                events=Counted(api.store, reads),
                explorations=Counted(api.store, reads),
                events_wait_seconds=wait_seconds,
            )
        )
        client = InProcess(api, clock, seconds)
        target = DeploymentTarget(cast("ApiClient", client), clock)
        delays = [
            clock.elapsed - float(received.event.content)
            for received in target.events(exploration.id, lambda _: None)
            if isinstance(received.event, TextDelta)
        ]
    return Cost(clock.elapsed, client.calls, client.held, len(reads), delays)


def every(seconds: float, until: float) -> list[float]:
    return [seconds * n for n in range(1, int(until / seconds) + 1)]


RUN_EVENTS = (  # a step of thinking and tool calls, a minute of silence, then text
    *every(1.7, 20.0),
    *(20.0 + t for t in every(7.3, 40.0)),
    *(120.0 + t for t in every(0.5, 20.0)),
)
SITUATIONS: dict[str, tuple[float, Sequence[float], bool]] = {
    "text arrives all the time": (600.0, every(0.5, 600.0), False),
    "a run of 140 s": (140.0, RUN_EVENTS, False),
    "an hour of silence": (HOUR, (), False),
    "an hour in the queue": (HOUR, (), True),
}


def main() -> None:
    print(
        f"{'':26} {'answers':>12} {'calls/h':>8} {'held by 20':>11} {'delay p50/max':>14} {'$/h':>8}"
    )
    for name, (seconds, times, queued) in SITUATIONS.items():
        for label, wait in (("within 20 s", LONG_POLL), ("at once", AT_ONCE)):
            cost = follow_for(seconds, times, wait_seconds=wait, queued=queued)
            delays = sorted(cost.delays)
            seen = f"{delays[len(delays) // 2]:.1f} / {delays[-1]:.1f} s" if delays else "-"
            print(
                f"{name:26} {label:>12} {cost.calls / cost.seconds * HOUR:8.0f}"
                f" {20 * cost.executions:11.2f} {seen:>14} {cost.usd_per_hour:8.4f}"
            )
    print(f"A new account has {NEW_ACCOUNT} executions for all functions.")


if __name__ == "__main__":
    main()
