"""A backlog that drains under AWS's rules: each job delivered several times, in any order.

`python -m tests.e2e.drain --jobs 1000 --deliveries 5` prints figures and fails if a job was lost or done
twice. The account has ten concurrent executions, indexes lag by a second, the sweep runs every minute.
"""

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idea_explorer.domain.ids import ExplorationId, id_from_key
from idea_explorer.domain.queue_messages import QUEUE_OWNER
from idea_explorer.domain.run import FINAL
from tests.e2e.harness.services import Rules
from tests.e2e.harness.stack import Machine, Options, Stack, credentials
from tests.e2e.harness.template import defaults, resources_of
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub

REPOSITORY, TOKEN = "acme/ideas", "ghp-drain"
INDEX_LAG = 1.0
QUOTA_PER_HOUR = 5_000  # requests that GitHub allows one user
SWEEP_SECONDS = 60.0
BATCH = 10  # what SQS takes at once
SECONDS_PER_JOB = 5.0  # several times what a busy machine needs
SEED = 16
TRAILER = "Exploration-Id: "


@dataclass(frozen=True)
class Figures:
    """What became of a backlog."""

    jobs: int
    deliveries: int
    seconds: float
    statuses: Counter[str]
    runs: int
    commits: Counter[str]
    dead_letters: int
    recursive_drops: int
    lost_events: int
    max_running: int
    most_running: int
    most_executions: int
    invocations: dict[str, int]
    throttles: dict[str, int]

    def check(self) -> None:
        assert self.statuses == {"completed": self.jobs}
        assert self.runs == self.jobs
        assert len(self.commits) == self.jobs
        assert set(self.commits.values()) == {1}
        assert (self.dead_letters, self.recursive_drops, self.lost_events) == (0, 0, 0)
        assert self.most_running <= self.max_running

    def lines(self) -> Iterator[str]:
        yield f"jobs × deliveries       {self.jobs} × {self.deliveries}"
        yield f"seconds                 {self.seconds:.0f} ({self.seconds / self.jobs:.2f} per job)"
        yield f"how they ended          {dict(self.statuses)}"
        yield f"runs                    {self.runs}"
        yield f"commits                 {self.commits.total()} for {len(self.commits)} jobs"
        yield f"dead letters            {self.dead_letters}"
        yield f"recursive drops         {self.recursive_drops}"
        yield f"lost asynchronous       {self.lost_events}"
        yield f"running at once, most   {self.most_running} of {self.max_running}"
        yield f"executions, most        {self.most_executions}"
        yield f"invocations             {self.invocations}"
        yield f"throttled               {self.throttles}"


def drain(machine: Machine, github: FakeGitHub, jobs: int, deliveries: int) -> Figures:
    """Send every job so many times, shuffled, and wait until all have ended and the queue is empty."""
    repository = github.create_repository(REPOSITORY, {"README.md": "# Ideas"})
    # here a run takes a second instead of a minute or more, so GitHub's quota of an hour is spent in a minute
    github.limits.limit = github.limits.remaining = QUOTA_PER_HOUR * 60
    options = Options(
        parameters={"GitHubRepository": REPOSITORY, "Provider": "offline"},
        environment={"GITHUB_API_URL": github.url},
        secrets={"GitHubSecret": TOKEN},
        sweep_seconds=SWEEP_SECONDS,
    )
    with machine.stack(options) as stack:
        began = time.monotonic()
        keys = [f"job-{number}" for number in range(jobs)]
        send(stack, keys, deliveries)
        ids = [id_from_key(QUEUE_OWNER, key) for key in keys]
        most_running = wait(stack, ids)
        return measure(stack, repository, ids, deliveries, time.monotonic() - began, most_running)


def send(stack: Stack, keys: list[str], deliveries: int) -> None:
    bodies = [{"idea": f"An idea for {key}", "dedup_key": key} for key in keys] * deliveries
    random.Random(SEED).shuffle(bodies)
    for start in range(0, len(bodies), BATCH):
        stack.send_all(bodies[start : start + BATCH])


def wait(stack: Stack, ids: list[ExplorationId]) -> int:
    """Until all have ended; gives how many held a slot at once at most, as far as was seen."""
    open_ids, most = list(ids), 0
    until = time.monotonic() + 60 + SECONDS_PER_JOB * len(ids)
    while open_ids or stack.waiting_messages():
        assert time.monotonic() < until, f"{len(open_ids)} have not ended\n{stack.logs()}"
        most = max(most, len(stack.stores.admission.slots().holders))
        # the oldest end first, so a look at a few of them tells when to look at the next
        while open_ids and stack.status(open_ids[0]) in FINAL:
            open_ids.pop(0)
        time.sleep(1)
    return most


def measure(
    stack: Stack,
    repository: Repository,
    ids: list[ExplorationId],
    deliveries: int,
    seconds: float,
    most_running: int,
) -> Figures:
    named = {
        stack.named(function): function for function in resources_of("AWS::Serverless::Function")
    }
    explore = stack.named("ExploreFunction")
    trailers = [
        line.removeprefix(TRAILER)
        for commit in repository.log()
        for line in commit.message.splitlines()
        if line.startswith(TRAILER)
    ]
    return Figures(
        jobs=len(ids),
        deliveries=deliveries,
        seconds=seconds,
        statuses=Counter(str(stack.status(exploration_id)) for exploration_id in ids),
        runs=stack.count_executions(),
        commits=Counter(trailers),
        dead_letters=len(stack.dead_letters()),
        recursive_drops=sum(stack.recursive_drops().values()),
        lost_events=sum(  # a sweep that is throttled is not repeated: the next one comes anyway
            count
            for name, count in stack.lost_events().items()
            if named[name] != "DispatchFunction"
        ),
        max_running=int(defaults()["MaxRunning"]),
        most_running=max(most_running, stack.functions.most_at_once[explore]),
        most_executions=stack.account.most_at_once,
        invocations={
            function: len(stack.functions.invocations[name]) for name, function in named.items()
        },
        throttles={
            function: count
            for name, function in named.items()
            if (count := stack.account.throttles[name])
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--deliveries", type=int, default=5)
    parser.add_argument("--lag", type=float, default=INDEX_LAG)
    given: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, credentials():
        root = Path(folder)
        machine = Machine(root, Rules(index_lag=given.lag))
        try:
            with FakeGitHub(root / "github", token=TOKEN) as github:
                figures = drain(machine, github, given.jobs, given.deliveries)
        finally:
            machine.close()
    print("\n".join(figures.lines()))
    figures.check()


if __name__ == "__main__":
    main()
