"""The queue of one machine: at least once, and nothing is lost with a process."""

from pathlib import Path

import pytest

from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.adapters.sqlite.queue import ALONE_WAIT_SECONDS, LocalQueue
from idea_explorer.domain.ids import new_id
from idea_explorer.ports import Job
from tests.fakes.clock import ManualClock

FIRST, SECOND, THIRD = new_id(1), new_id(2), new_id(3)


class World:
    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.path = folder / "queue.db"
        self.queue = self.another()

    def another(self) -> LocalQueue:
        """The queue as another process has it open."""
        return LocalQueue(self.path, self.clock)

    def take(self, queue: LocalQueue | None = None) -> Job:
        job = (queue or self.queue).take()
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


def test_a_job_whose_process_died_is_due_again_once(world: World) -> None:
    world.queue.send(FIRST, 1)
    world.take()
    world.queue.close()
    second, third = world.another(), world.another()

    second.release_lost()
    third.release_lost()

    assert second.take() == Job(1, FIRST, 1, attempts=2)
    third.release_lost()  # it looks again, and may have looked before
    assert third.take() is None


def test_a_job_stays_with_its_process_however_long_that_is_silent(world: World) -> None:
    """A process that computes, or that the machine gives no time, is not overtaken: neither by others nor by
    its own threads."""
    world.queue.send(FIRST, 1)
    job = world.take()
    other = world.another()
    world.clock.pass_time(3_600)
    for queue in (world.queue, other):
        queue.release_lost()

    assert (world.queue.take(), other.take()) == (None, None)
    world.queue.done(job)
    assert not world.queue.has(FIRST, 1)


def test_a_second_job_of_a_run_waits_for_the_first(world: World) -> None:
    """As a decision does that comes while the run goes on: taken now, it would end what runs."""
    world.queue.send(FIRST, 1)
    job = world.take()
    world.queue.send(FIRST, 1)
    world.queue.send(SECOND, 1)

    assert world.take().exploration_id == SECOND
    assert world.another().take() is None
    world.queue.done(job)
    assert world.take().exploration_id == FIRST


def test_another_run_of_an_exploration_does_not_wait(world: World) -> None:
    world.queue.send(FIRST, 1)
    world.take()
    world.queue.send(FIRST, 2)

    assert world.take().run == 2


def test_a_job_that_is_put_back_is_due_at_once(world: World) -> None:
    world.queue.send(FIRST, 1)
    world.queue.put_back(world.take())

    assert world.take().attempts == 2


def test_a_job_that_is_left_behind_is_taken_up_in_the_same_attempt(world: World) -> None:
    world.queue.send(FIRST, 1)
    world.queue.leave(world.take())
    other = world.another()
    other.release_lost()
    assert other.take() is None  # its threads may still be at it

    world.queue.close()
    other.release_lost()

    assert other.take() == Job(1, FIRST, 1, attempts=1)


def test_a_job_beside_one_that_ends_its_process_is_done(world: World) -> None:
    """Nobody can tell which of the two it was: both are done alone, and the attempt counts for neither."""
    for exploration in (FIRST, SECOND):
        world.queue.send(exploration, 1)
        world.take()
    attempts = []
    for _ in range(4):
        world.queue.close()
        world.queue = world.another()
        world.queue.release_lost()
        job = world.take()
        attempts.append((job.exploration_id, job.attempts))
        assert world.queue.take() is None  # neither is done beside another
    assert attempts == [(FIRST, 1), (FIRST, 2), (FIRST, 3), (FIRST, 4)]
    world.queue.done(job)
    job = world.take()
    assert (job.exploration_id, job.attempts) == (SECOND, 1)
    world.queue.done(job)
    for exploration in (FIRST, SECOND):
        world.queue.send(exploration, 2)
        assert world.take().attempts == 1


def test_a_job_that_has_to_be_done_alone_waits_for_a_process_without_jobs(world: World) -> None:
    for exploration in (FIRST, SECOND):
        world.queue.send(exploration, 1)
        world.take()
    other = world.another()
    world.queue.send(THIRD, 1)
    jobs = [world.take(other)]
    world.queue.close()
    other.release_lost()
    world.queue.send(THIRD, 2)
    jobs.append(world.take(other))
    world.queue.send(THIRD, 3)
    world.clock.pass_time(ALONE_WAIT_SECONDS)

    assert [(job.exploration_id, job.run) for job in jobs] == [(THIRD, 1), (THIRD, 2)]
    assert other.take() is None  # the first and the second have waited for long
    for job in jobs:
        other.done(job)
    assert world.take(other).exploration_id == FIRST
    assert world.take(world.another()).exploration_id == SECOND


def test_jobs_of_a_process_that_was_told_to_end_go_on_together(world: World) -> None:
    world.queue.send(FIRST, 1)
    world.queue.send(SECOND, 1)
    for job in (world.take(), world.take()):
        world.queue.leave(job)
    world.queue.close()
    world.queue.release_lost()

    assert (world.take().attempts, world.take().attempts) == (1, 1)


def test_a_job_that_is_done_never_comes_again(world: World) -> None:
    world.queue.send(FIRST, 1)
    world.queue.done(world.take())
    world.queue.close()
    world.clock.pass_time(1_000)
    world.queue.release_lost()

    assert world.queue.take() is None


def test_a_job_is_taken_as_long_as_its_process_lives(world: World) -> None:
    world.queue.send(FIRST, 1)
    other = world.another()
    waiting = other.is_taken(FIRST, 1)
    world.take()
    taken = other.is_taken(FIRST, 1)
    world.queue.close()

    assert (waiting, taken, other.is_taken(FIRST, 1)) == (False, True, False)


def test_jobs_that_wait_for_a_worker_are_noticed(world: World) -> None:
    world.queue.send(FIRST, 1)
    assert not world.queue.is_behind(1.0)
    world.clock.pass_time(1.0)
    assert world.queue.is_behind(1.0)

    world.take()

    assert not world.queue.is_behind(1.0)


def test_what_an_earlier_version_had_taken_is_due_once_its_time_is_over(world: World) -> None:
    world.queue.send(FIRST, 1)
    until = world.clock.now().timestamp() + 5
    Database(world.path, "").execute("UPDATE work SET taken = 1, due = ?", [until])

    world.queue.release_lost()
    assert (world.queue.is_taken(FIRST, 1), world.queue.take()) == (True, None)
    world.clock.pass_time(5)
    world.queue.release_lost()

    assert world.take().exploration_id == FIRST


def test_a_job_that_was_put_back_cannot_be_left(world: World) -> None:
    """As when a process is told to end at the moment at which a job fails."""
    world.queue.send(FIRST, 1)
    job = world.take()
    world.queue.put_back(job)

    world.queue.leave(job)

    assert world.take().attempts == 2


def test_a_lone_job_that_is_not_due_stops_nobody(world: World) -> None:
    worker = world.another()
    worker.send(FIRST, 1)
    worker.send(SECOND, 1)
    world.take(worker)
    world.take(worker)
    worker.close()
    world.queue.release_lost()
    world.queue.put_back(world.take(), delay_seconds=3_600)
    world.queue.done(world.take())
    world.clock.pass_time(ALONE_WAIT_SECONDS + 1)

    world.queue.send(THIRD, 1)
    world.queue.send(THIRD, 2)

    assert [world.take().run, world.take().run] == [1, 2]
