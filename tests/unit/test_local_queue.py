"""The queue of one machine: at least once, and nothing is lost with a process."""

from pathlib import Path

import pytest

from idea_explorer.adapters.sqlite.queue import CLAIM_SECONDS, LocalQueue
from idea_explorer.domain.ids import new_id
from idea_explorer.ports import Job
from tests.fakes.clock import ManualClock

FIRST, SECOND = new_id(1), new_id(2)


class World:
    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.path = folder / "queue.db"
        self.queue = self.restarted()

    def restarted(self) -> LocalQueue:
        return LocalQueue(self.path, self.clock)

    def take(self) -> Job:
        job = self.queue.take()
        assert job is not None
        return job


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_jobs_come_in_order_and_each_to_one_worker(world: World) -> None:
    world.queue.send(FIRST, 1)
    world.clock.pass_time(1)
    world.queue.send(SECOND, 1)

    assert [world.take().exploration_id, world.take().exploration_id] == [FIRST, SECOND]
    assert world.queue.take() is None


def test_the_same_run_is_queued_once(world: World) -> None:
    for _ in range(3):
        world.queue.send(FIRST, 1)
    world.queue.send(FIRST, 2)

    assert {world.take().run, world.take().run} == {1, 2}
    assert world.queue.take() is None


def test_what_is_sent_while_its_job_is_being_done_comes_afterwards(world: World) -> None:
    """As a decision does that comes while the run is still going to sleep."""
    world.queue.send(FIRST, 1)
    job = world.take()
    world.queue.send(FIRST, 1)
    world.queue.send(FIRST, 1)
    world.queue.done(job)

    assert world.take().exploration_id == FIRST
    assert world.queue.take() is None


def test_a_delayed_job_waits(world: World) -> None:
    world.queue.send(FIRST, 1, delay_seconds=30)
    assert world.queue.take() is None

    world.clock.pass_time(30)

    assert world.take() == Job(1, FIRST, 1, attempts=1)


def test_a_job_whose_worker_died_is_due_again(world: World) -> None:
    world.queue.send(FIRST, 1)
    world.take()
    queue = world.restarted()
    assert queue.take() is None

    world.clock.pass_time(CLAIM_SECONDS)

    assert queue.take() == Job(1, FIRST, 1, attempts=2)


def test_a_job_that_is_kept_stays_with_its_worker(world: World) -> None:
    world.queue.send(FIRST, 1)
    job = world.take()
    for _ in range(10):
        world.clock.pass_time(CLAIM_SECONDS - 1)
        world.queue.keep(job)

    assert world.queue.take() is None


def test_a_job_that_is_put_back_is_due_at_once(world: World) -> None:
    world.queue.send(FIRST, 1)
    world.queue.put_back(world.take())

    assert world.take().attempts == 2


def test_a_job_that_is_done_never_comes_again(world: World) -> None:
    world.queue.send(FIRST, 1)
    job = world.take()
    world.queue.done(job)
    world.queue.keep(job)
    world.clock.pass_time(1_000)

    assert world.queue.take() is None


def test_a_job_is_taken_as_long_as_its_worker_lives(world: World) -> None:
    world.queue.send(FIRST, 1)
    waiting = world.queue.is_taken(FIRST, 1)
    world.take()
    taken = world.queue.is_taken(FIRST, 1)
    world.clock.pass_time(CLAIM_SECONDS + 1)

    assert (waiting, taken, world.queue.is_taken(FIRST, 1)) == (False, True, False)
