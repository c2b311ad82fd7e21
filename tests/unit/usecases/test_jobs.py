"""One job, whatever happens to it: it is done or due again, and nothing stays running."""

from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.adapters.sqlite.queue import LocalQueue
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.jobs import MAX_ATTEMPTS, RETRY_SECONDS, run_job
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, says

REPORT = "# Tea\n\nA room."


class World:
    def __init__(self, folder: Path, *replies: Exception | str) -> None:
        script = [says(reply) if isinstance(reply, str) else reply for reply in replies]
        self.bench = Bench(folder, ScriptedModel(list(script)))
        self.queue = LocalQueue(folder / "queue.db", self.bench.clock)
        self.id = self.bench.submit().id
        self.queue.send(self.id, 1)

    def work(self) -> bool:
        """Do the next job that is due; whether there was one."""
        job = self.queue.take()
        if job is None:
            return False
        run_job(job, self.queue, self.bench.deps)
        return True

    @property
    def exploration(self) -> Exploration:
        return self.bench.store.load(self.id)


def test_a_job_ends_with_a_published_report(tmp_path: Path) -> None:
    world = World(tmp_path, REPORT)

    world.work()

    assert world.exploration.status == "completed"
    assert world.exploration.publication.path is not None
    assert not world.work()


def test_a_bug_is_tried_again_and_then_settled(tmp_path: Path) -> None:
    world = World(tmp_path, RuntimeError("a bug"))

    for _ in range(MAX_ATTEMPTS):
        assert world.work()
        assert not world.work()
        world.bench.clock.pass_time(RETRY_SECONDS)

    assert world.exploration.status == "failed"
    assert world.exploration.run.receipt is not None
    assert not world.work()


def test_a_bug_that_passes_costs_nothing_but_time(tmp_path: Path) -> None:
    world = World(tmp_path, RuntimeError("a bug"), REPORT)

    world.work()
    world.bench.clock.pass_time(RETRY_SECONDS)
    world.work()

    assert world.exploration.status == "completed"


def test_a_run_that_ends_its_process_each_time_is_settled(tmp_path: Path) -> None:
    """Nothing but the count is left of such an attempt."""
    world = World(tmp_path, REPORT)
    for _ in range(MAX_ATTEMPTS):
        assert world.queue.take() is not None
        world.queue.close()
        world.queue.release_lost()

    world.work()

    assert world.exploration.status == "failed"
    assert not world.work()


def test_what_no_repetition_can_cure_is_settled_at_once(tmp_path: Path) -> None:
    world = World(tmp_path, REPORT)

    def unavailable(*_: object) -> Toolset:
        raise ConfigurationError("The toolset is not available here.")

    world.bench.engine = replace(world.bench.engine, toolset_for=unavailable)
    world.work()

    assert world.exploration.status == "failed"
    assert not world.work()


@pytest.mark.parametrize("reply", [REPORT, RuntimeError("a bug")], ids=["well", "badly"])
def test_tools_are_closed_when_their_run_has_ended(tmp_path: Path, reply: Exception | str) -> None:
    world = World(tmp_path, reply)
    outcomes: list[str | None] = []
    tools = Toolset([], close=lambda: outcomes.append(world.exploration.run.outcome))
    world.bench.engine = replace(world.bench.engine, toolset_for=lambda *_: tools)

    world.work()

    assert outcomes == ["completed" if reply == REPORT else None]


@pytest.mark.parametrize("status", ["cancelled", "gone on"])
def test_what_has_gone_on_without_it_is_left_alone(tmp_path: Path, status: str) -> None:
    world = World(tmp_path, REPORT)
    at = world.bench.clock.now()
    world.bench.store.take_over(world.id, lambda e: e.finished("cancelled", at=at))
    if status == "gone on":
        world.bench.store.take_over(world.id, lambda e: e.moved("queued", at=at, number=2))
    before = world.exploration.status

    world.work()

    assert world.exploration.status == before
    assert not world.work()
