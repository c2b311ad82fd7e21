"""How long explorations wait for a slot, how many run at once and what that costs: before and after.

    python -m tests.performance.admission [SUBMISSIONS ...]

Three owners send their explorations within a minute, one of them a single one. Time is simulated; the
constants are AWS's and the template's.

Before: dispatch counted what runs with an index and, without room, sent the message to its own queue again.
That code is gone, so its rules are modelled here. After: the real `submit`, `dispatch`, `admit` and `sweep`.
They run on SQLite, which is quick enough for so many; what each call of the store costs on DynamoDB is
measured first, with the requests that the DynamoDB adapters send for a few explorations.
"""

import heapq
import itertools
import os
import random
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from idea_explorer.adapters.aws.client import client
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.queue_messages import QueueMessage
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.usecases.admission import admit
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.dispatch import dispatch
from idea_explorer.usecases.submit import submit
from idea_explorer.usecases.sweep import sweep
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.aws import REGION, fake_aws
from tests.fakes.clock import ManualClock
from tests.fakes.deps import make_deps

SUBMISSIONS = (1_000, 10_000)
LIMITS = (5, 20)
SUBMIT_SECONDS = 60.0
SINGLE_AT = 30.0  # when the owner with one request sends it
RUN_SECONDS = (24.0, 120.0)  # how long an exploration researches: 72 s on average

DELIVERY_SECONDS = 0.1  # from sending a message until a function has it
DISPATCH_SECONDS = 0.05  # one call of a warm dispatch function
COLD_START_SECONDS = 1.5  # of the explore function
DISPATCHERS = 2  # the event source's maximum concurrency
INDEX_LAG_SECONDS = 1.0
DEFER_SECONDS = 30.0
QUEUED_TOO_LONG_SECONDS = 900.0
OLD_SWEEP_SECONDS, OLD_MAX_PER_SWEEP = 300.0, 100
ROUNDS = 16  # after which Lambda ends a chain of function and queue
BATCH = 10
SAMPLE = 40  # explorations, to measure what a call of the store costs
SWEEP_SECONDS = 60.0

# Dollars per million, us-east-1. Each message is sent, received and deleted.
DYNAMODB_WRITE_UNITS, DYNAMODB_READ_UNITS = 0.625, 0.125
SQS_REQUESTS = 0.40
LAMBDA_CALLS = 0.20 + 0.5 * DISPATCH_SECONDS * 13.3334  # 512 MB on arm64


@dataclass
class Outcome:
    """What happened to the submissions of one simulation."""

    waits: dict[str, list[float]] = field(default_factory=dict)
    most_running: int = 0
    dead_letters: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    hours: float = 0.0

    def wait_of(self, owner: str, share: float) -> float | None:
        waits = sorted(self.waits.get(owner, []))
        return waits[min(len(waits) - 1, int(share * len(waits)))] if waits else None

    @property
    def usd(self) -> float:
        prices = {
            "sqs": SQS_REQUESTS,
            "lambda": LAMBDA_CALLS,
            "read units": DYNAMODB_READ_UNITS,
            "write units": DYNAMODB_WRITE_UNITS,
        }
        return sum(prices[kind] * count for kind, count in self.operations.items()) / 1e6


def submissions(count: int) -> list[tuple[float, str]]:
    """When each is sent, and by whom: two owners share all but one."""
    rng = random.Random(count)
    times = sorted(rng.uniform(0, SUBMIT_SECONDS) for _ in range(count - 1))
    sent = [(at, ("ada", "bob")[n % 2]) for n, at in enumerate(times)]
    return sorted([*sent, (SINGLE_AT, "eve")])


class Agenda:
    """What is to happen, in the order of time."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[float], None]]] = []
        self._numbers = itertools.count()

    def at(self, time: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._entries, (time, next(self._numbers), act))

    def run(self) -> float:
        now = 0.0
        while self._entries:
            now, _, act = heapq.heappop(self._entries)
            act(now)
        return now


class Before:
    """Admission as it was: count with the index, and send again what finds no room."""

    def __init__(self, count: int, limit: int) -> None:
        self._limit = limit
        self._agenda = Agenda()
        self._rng = random.Random(1)
        self._queue: deque[tuple[float, str, int]] = deque()
        self._idle = DISPATCHERS
        self._running = 0
        self._indexed = 0
        self._unstarted = count
        self._lost: deque[tuple[float, float, str]] = deque()
        self.outcome = Outcome()
        for at, owner in submissions(count):
            self._agenda.at(at, partial(self._submit, owner))
        self._agenda.at(OLD_SWEEP_SECONDS, self._sweep)
        self.outcome.hours = self._agenda.run() / 3_600

    def _submit(self, owner: str, now: float) -> None:
        self._send(now, (now, owner, 0))

    def _send(self, now: float, message: tuple[float, str, int], delay: float = 0.0) -> None:
        self.outcome.operations["sqs"] += 3
        self._agenda.at(now + delay + DELIVERY_SECONDS, lambda at: self._arrive(at, message))

    def _arrive(self, now: float, message: tuple[float, str, int]) -> None:
        self._queue.append(message)
        self._work(now)

    def _work(self, now: float) -> None:
        while self._idle and self._queue:
            self._idle -= 1
            message = self._queue.popleft()
            self._agenda.at(now + DISPATCH_SECONDS, partial(self._dispatch, message))

    def _dispatch(self, message: tuple[float, str, int], now: float) -> None:
        since, owner, rounds = message
        self._idle += 1
        self.outcome.operations["lambda"] += 1
        self.outcome.operations["read units"] += (
            1 + self._indexed // 16
        )  # the record, and the count
        if rounds >= ROUNDS:
            self.outcome.dead_letters += 1
            self._lost.append((now, since, owner))
        elif self._indexed < self._limit:
            self._start(now, owner, since)
        else:
            self.outcome.operations["write units"] += 4  # touches the record and its indexes
            self._send(now, (since, owner, rounds + 1), DEFER_SECONDS)
        self._work(now)

    def _sweep(self, now: float) -> None:
        """Send again, as new messages, what has been queued for long without a change."""
        for _ in range(OLD_MAX_PER_SWEEP):
            if not self._lost or now - self._lost[0][0] < QUEUED_TOO_LONG_SECONDS:
                break
            _, since, owner = self._lost.popleft()
            self._send(now, (since, owner, 0))
        if self._unstarted:
            self._agenda.at(now + OLD_SWEEP_SECONDS, self._sweep)

    def _start(self, now: float, owner: str, since: float) -> None:
        self._unstarted -= 1
        self.outcome.waits.setdefault(owner, []).append(now - since)
        self.outcome.operations["write units"] += 8
        self._change(now, +1)
        length = self._rng.uniform(*RUN_SECONDS)
        self._agenda.at(now + length, lambda at: self._change(at, -1))

    def _change(self, now: float, by: int) -> None:
        self._running += by
        self.outcome.most_running = max(self.outcome.most_running, self._running)
        self._agenda.at(now + INDEX_LAG_SECONDS, lambda _: self._index(by))

    def _index(self, by: int) -> None:
        self._indexed += by


class After:
    """Admission as it is, by the code itself."""

    def __init__(self, count: int, limit: int, deps: Deps, clock: ManualClock) -> None:
        self._agenda = Agenda()
        self._clock = clock
        self._rng = random.Random(1)
        self._queue: deque[str] = deque()
        self._idle = DISPATCHERS
        self._started: set[ExplorationId] = set()
        self._exploring: set[ExplorationId] = set()
        self._left = count
        self.outcome = Outcome()
        self._deps = replace(
            deps,
            max_running=limit,
            queue=lambda: self,
            workflow=lambda: self,
            sinks_for=lambda _: (),
        )
        for at, owner in submissions(count):
            self._agenda.at(at, partial(self._submit, owner))
        self._agenda.at(SWEEP_SECONDS, self._sweep)
        self.outcome.hours = self._agenda.run() / 3_600
        if deps.admission.count_waiting():
            raise AssertionError("Not all of them were started.")

    # What the code calls

    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None:
        self.outcome.operations["sqs"] += 3
        body = f'{{"id": "{exploration_id}", "run": {run}}}'
        self._agenda.at(self._clock.elapsed + DELIVERY_SECONDS, lambda now: self._arrive(now, body))

    def dead_letter(self, body: str, reason: str) -> None:
        self.outcome.dead_letters += 1

    def start(self, exploration_id: ExplorationId, run: int, deadline_seconds: int) -> bool:
        now = self._clock.elapsed
        if exploration_id in self._started:
            return False
        self._started.add(exploration_id)
        self._exploring.add(exploration_id)
        self.outcome.most_running = max(self.outcome.most_running, len(self._exploring))
        self._agenda.at(now + COLD_START_SECONDS, partial(self._begin, exploration_id))
        self._agenda.at(now + self._rng.uniform(*RUN_SECONDS), partial(self._end, exploration_id))
        return True

    def is_running(self, exploration_id: ExplorationId, run: int) -> bool:
        return exploration_id in self._exploring

    # What happens

    def _submit(self, owner: str, now: float) -> None:
        self._clock.elapsed = now
        exploration = submit(ExploreRequest(idea="An idea"), owner, self._deps)
        self.send(exploration.id, 1)

    def _arrive(self, now: float, body: str) -> None:
        self._queue.append(body)
        self._work(now)

    def _work(self, now: float) -> None:
        while self._idle and self._queue:
            self._idle -= 1
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            self._agenda.at(now + DISPATCH_SECONDS, partial(self._dispatch, batch))

    def _dispatch(self, batch: list[str], now: float) -> None:
        self._clock.elapsed = now
        self._idle += 1
        self.outcome.operations["lambda"] += 1
        for body in batch:
            dispatch(QueueMessage("a-message", body), self._deps)
        admit(self._deps)
        self._work(now)

    def _sweep(self, now: float) -> None:
        self._clock.elapsed = now
        self.outcome.operations["lambda"] += 1
        sweep(self._deps)
        if self._left:
            self._agenda.at(now + SWEEP_SECONDS, self._sweep)

    def _begin(self, exploration_id: ExplorationId, now: float) -> None:
        """What the explore function does first. The wait is over."""
        self._clock.elapsed = now
        at = self._clock.now()
        begun = self._deps.explorations.take_over(
            exploration_id, lambda e: e.replace(deadline_at=at, updated_at=at)
        )
        waited = (at - begun.created_at).total_seconds()
        self.outcome.waits.setdefault(begun.owner, []).append(waited)

    def _end(self, exploration_id: ExplorationId, now: float) -> None:
        """The report is written: its slot is free, and a message says so."""
        self._clock.elapsed = now
        at = self._clock.now()
        self._deps.explorations.take_over(
            exploration_id, lambda e: e.finished("completed", at=at, outcome="completed")
        )
        self._exploring.discard(exploration_id)
        self._left -= 1
        self.send(exploration_id, 1)


@dataclass
class Calls:
    """How often each method of the stores was called, and which one was called last."""

    count: Counter[str] = field(default_factory=Counter)
    last: str = ""

    def count_those_of(self, deps: Deps) -> Deps:
        explorations, admission = Counted(deps.explorations, self), Counted(deps.admission, self)
        return replace(deps, explorations=explorations, admission=admission)


class Counted:
    """A store whose calls are counted."""

    def __init__(self, store: Any, calls: Calls) -> None:
        self._store = store
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        self._calls.count[name] += 1
        self._calls.last = name
        return getattr(self._store, name)


def units_of(model: str, body: bytes) -> tuple[int, int]:
    """The write and read units of a request to DynamoDB. A transaction counts twice, and a record is also
    written to its two indexes."""
    match model:
        case "GetItem":
            return 0, 1
        case "Query" | "BatchGetItem":
            return 0, 2
        case "TransactWriteItems":
            return 2 * body.count(b'"TableName"') + 2 * body.count(b':record"'), 0
        case _:
            return 1, 0


def measure_units() -> dict[str, tuple[float, float]]:
    """What each call of the stores costs on average, in write and read units."""
    calls, writes, reads = Calls(), Counter[str](), Counter[str]()
    clock = ManualClock()

    def count(params: dict[str, Any], model: Any, **_: Any) -> None:
        written, read = units_of(model.name, params["body"])
        writes[calls.last] += written
        reads[calls.last] += read

    with fake_aws() as settings:
        deps = replace(cloud_deps(settings, SilentLog()), clock=clock)
        events = client("dynamodb").meta.events
        events.register("before-call.dynamodb", count)
        try:
            After(SAMPLE, SAMPLE // 4, calls.count_those_of(deps), clock)
        finally:
            events.unregister("before-call.dynamodb", count)
    return {name: (writes[name] / n, reads[name] / n) for name, n in calls.count.items()}


def simulate_after(count: int, limit: int, units: Mapping[str, tuple[float, float]]) -> Outcome:
    calls, clock = Calls(), ManualClock()
    with tempfile.TemporaryDirectory() as folder:
        deps = make_deps(Path(folder), clock=clock, has_slots=True, queued_too_long_seconds=900)
        outcome = After(count, limit, calls.count_those_of(deps), clock).outcome
    for name, number in calls.count.items():
        written, read = units.get(name, (0.0, 0.0))
        outcome.operations["write units"] += round(number * written)
        outcome.operations["read units"] += round(number * read)
    return outcome


def report(count: int, limit: int, units: Mapping[str, tuple[float, float]]) -> Outcome:
    before, after = Before(count, limit).outcome, simulate_after(count, limit, units)
    print(f"\n{count:,} submissions in a minute, at most {limit} running")
    print(f"  {'':<32}{'before':>14}{'after':>14}")
    for label, show in figures().items():
        print(f"  {label:<32}{show(before):>14}{show(after):>14}")
    return after


def figures() -> dict[str, Callable[[Outcome], str]]:
    owners = {"ada": "owner ada", "bob": "owner bob", "eve": "single request"}
    shares = {"p50": 0.5, "p95": 0.95}
    return {
        **{
            f"wait {label}, {name}": partial(show_wait, owner=owner, share=share)
            for owner, name in owners.items()
            for label, share in shares.items()
        },
        "most running at once": lambda o: str(o.most_running),
        "messages dead-lettered": lambda o: f"{o.dead_letters:,}",
        "SQS requests": lambda o: f"{o.operations['sqs']:,}",
        "dispatch invocations": lambda o: f"{o.operations['lambda']:,}",
        "DynamoDB write units": lambda o: f"{o.operations['write units']:,.0f}",
        "DynamoDB read units": lambda o: f"{o.operations['read units']:,.0f}",
        "cost of waiting and starting": lambda o: f"${o.usd:.3f}",
        "hours until the last has ended": lambda o: f"{o.hours:.1f}",
    }


def show_wait(outcome: Outcome, *, owner: str, share: float) -> str:
    seconds = outcome.wait_of(owner, share)
    if seconds is None:
        return "never"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 3_600:.1f} h"


def main(counts: list[int]) -> int:
    os.environ |= {
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
    }
    failures = 0
    units = measure_units()
    for count, limit in itertools.product(counts or SUBMISSIONS, LIMITS):
        after = report(count, limit, units)
        single = after.wait_of("eve", 0.5)
        on_time = single is not None and single < 120
        failures += after.most_running > limit or after.dead_letters or not on_time
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]]))
