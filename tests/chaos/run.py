"""Kill a run before and after every side effect, take it up again, and check what must hold.

    python -m tests.chaos.run [--seeds 20] [--every 1] [--planted-bug]

Prints kills, survivors and violations; exits with 1 where anything was violated.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.usage import Usage
from idea_explorer.settings import MODELS, PRICES
from tests.chaos.scenarios import SCENARIOS, Scenario
from tests.chaos.world import SURVIVED, World, servers
from tests.fakes.forked import FORKS

MAX_LIVES = 6


@dataclass
class Tally:
    cases: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    survivors: int = 0
    repeated_calls: int = 0
    violations: list[str] = field(default_factory=list)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.cases + other.cases,
            self.kills + other.kills,
            self.survivors + other.survivors,
            self.repeated_calls + other.repeated_calls,
            self.violations + other.violations,
        )


def measure(world: World, model: int) -> tuple[int, int]:
    """How many boundaries an undisturbed run passes, and how many model calls it makes."""
    before = count_calls(world.servers.bill(model))
    exploration = submit(world, model, f"Measuring {model}")
    code, passed = world.live(exploration, model, kill_at=None)
    after = world.servers.bill(model)
    assert (code, after["rejections"], after["violations"]) == (SURVIVED, [], [])
    return int(passed), count_calls(after) - before


def count_calls(bill: dict[str, object]) -> int:
    """Of every model: those of the run, and those that verify its report."""
    return int(str(bill["requests"])) + int(str(bill["verifications"]))


def submit(world: World, model: int, idea: str) -> Exploration:
    return world.submit(idea, **SCENARIOS[model].fields)


def run_case(world: World, tally: Tally, model: int, first: int, seed: int, calls: int) -> None:
    """One exploration that dies at `first`, perhaps again later, and must end well all the same."""
    rng = random.Random(f"{model}-{first}-{seed}")
    exploration = submit(world, model, f"Tea {model} {first} {seed}")
    before = world.servers.bill(model)
    tally.cases += 1
    kills = 0
    kill_at: int | None = first
    for life in range(MAX_LIVES):
        code, place = world.live(exploration, model, kill_at)
        if code == SURVIVED:
            break
        if place:
            kills += 1
            tally.kills[place] += 1
        # later seeds die more than once, somewhere on the way
        again = seed > 0 and life < MAX_LIVES - 2 and rng.random() < 0.5
        kill_at = rng.randint(1, first + 10) if again else None
    after = world.servers.bill(model)
    made = count_calls(after) - count_calls(before)
    tally.repeated_calls += made - calls
    scenario = SCENARIOS[model]
    lost = kills * scenario.calls_at_once
    found = check(world, exploration, scenario, _billed(before, after), made - calls, lost)
    tally.violations += [f"model {model}, boundary {first}, seed {seed}: {what}" for what in found]
    tally.survivors += not found


def _billed(before: dict[str, object], after: dict[str, object]) -> Usage:
    def total(state: dict[str, object]) -> Usage:
        billed = state["billed"]
        assert isinstance(billed, dict)
        return Usage(
            input_tokens=billed["input_tokens"],
            output_tokens=billed["output_tokens"],
            cache_write_tokens=billed["cache_creation_input_tokens"],
            cache_read_tokens=billed["cache_read_input_tokens"],
            searches=billed["web_search_requests"],
        )

    first, last = total(before), total(after)
    return Usage(
        **{
            field.name: getattr(last, field.name) - getattr(first, field.name)
            for field in fields(Usage)
        }
    )


def check(
    world: World,
    exploration: Exploration,
    scenario: Scenario,
    billed: Usage,
    repeated: int,
    lost: int,
) -> list[str]:
    """What must hold, read from the stores and the git history alone."""
    found: list[str] = []
    store = world.store
    final = store.load(exploration.id)
    if final.status != scenario.status:
        found.append(f"ended {final.status}")
    commits = world.servers.commits(exploration)
    if len(commits) != scenario.commits:
        found.append(f"{len(commits)} commits")
    events = store.read(exploration.id, limit=10_000)
    if [event.number for event in events] != list(range(1, len(events) + 1)):
        found.append("event numbers have gaps or repeats")
    if not events or events[-1].type != "status_changed":
        found.append("the last event does not tell the end")
    if repeated > lost:
        found.append(f"{repeated} repeated model calls where {lost} can have been lost")
    price = PRICES[MODELS["sonnet"]]
    if price.cost(final.run.stats.usage) < price.cost(billed):
        found.append(f"metered {price.cost(final.run.stats.usage)}, billed {price.cost(billed)}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--every", type=int, default=1, help="only every nth boundary")
    parser.add_argument("--jobs", type=int, default=2, help="worlds side by side")
    parser.add_argument("--planted-bug", action="store_true", help="store entries too late")
    options = parser.parse_args(arguments)
    tally = run(options.seeds, options.every, options.jobs, planted_bug=options.planted_bug)
    report(tally)
    return 1 if tally.violations else 0


def run(seeds: int, every: int, jobs: int, *, planted_bug: bool = False) -> Tally:
    """Each job has a world of its own, with servers of its own."""
    shares = [range(job, seeds, jobs) for job in range(jobs)]
    work = partial(run_share, every=every, planted_bug=planted_bug)
    with ProcessPoolExecutor(jobs, mp_context=FORKS) as pool:
        return sum(pool.map(work, shares), start=Tally())


def run_share(seeds: range, *, every: int, planted_bug: bool) -> Tally:
    tally = Tally()
    scenarios = SCENARIOS[: seeds.stop]
    scripts = [scenario.script for scenario in scenarios]
    with tempfile.TemporaryDirectory() as folder, servers(Path(folder, "servers"), scripts) as at:
        reviews = [scenario.review for scenario in scenarios]
        world = World(Path(folder, "world"), at, reviews, planted_bug=planted_bug)
        measured: dict[int, tuple[int, int]] = {}
        for seed in seeds:
            model = seed % len(SCENARIOS)
            if model not in measured:
                measured[model] = measure(world, model)
            boundaries, calls = measured[model]
            for boundary in range(1 + seed % every, boundaries + 1, every):
                run_case(world, tally, model, boundary, seed, calls)
                if planted_bug and tally.violations:
                    return tally  # found out
    return tally


def report(tally: Tally) -> None:
    for place, count in sorted(tally.kills.items(), key=lambda item: item[0].split()[::-1]):
        print(f"  {count:5}  killed {place}")
    print(
        f"{tally.cases} cases, {sum(tally.kills.values())} kills, {tally.survivors} survivors,"
        f" {tally.repeated_calls} repeated model calls, {len(tally.violations)} violations"
    )
    for violation in tally.violations[:20]:
        print(f"  ✗ {violation}")


if __name__ == "__main__":
    sys.exit(main())
