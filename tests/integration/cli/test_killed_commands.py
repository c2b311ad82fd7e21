"""A command that was killed keeps nothing from those that come after it."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.locks import ProcessLock
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import Filter
from tests.fakes.anthropic_faults import hang
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.command import idea, start
from tests.fakes.forked import Program
from tests.fakes.reports import business
from tests.fakes.served import Served

LOOK = answer(tool_use("list_research", {}))
REPORT = answer(text(business("Tea", "Yes.")))


class Machine:
    """A folder in which commands run, under a limit for the day."""

    def __init__(self, folder: Path, model: FakeAnthropic) -> None:
        self.folder = folder
        self.model = model
        self.env = {
            "ANTHROPIC_API_KEY": "a-key",
            "ANTHROPIC_BASE_URL": model.url,
            "IDEA_DAILY_COST_USD": "1",
        }

    def explore(self) -> tuple[int, str]:
        done = idea("explore", "Tea", env=self.env, folder=self.folder)
        return done.returncode, done.stderr

    @contextmanager
    def hanging(self) -> Iterator[Program]:
        """A command that waits for the second answer of its model."""
        asked = len(self.model.requests)
        with Path(os.devnull).open("r+") as nothing:
            streams = [nothing.fileno()] * 3
            program = start(["explore", "Coffee"], streams, env=self.env, folder=self.folder)
        try:
            until(lambda: len(self.model.requests) == asked + 2)
            yield program
        finally:
            program.kill()

    @property
    def store(self) -> SqliteStore:
        return SqliteStore(self.folder / ".idea-explorer" / "explorations.db")

    def left_queued(self, idea: str) -> Exploration:
        """What a command leaves behind that is killed before its run begins."""
        a_minute_ago = datetime.now(UTC) - timedelta(minutes=1)
        request = ExploreRequest(idea=idea)
        left = Exploration.new(request, "local", at=a_minute_ago, by_command=True)
        self.store.create(left)
        return left

    def named(self, idea: str) -> Exploration:
        found = self.store.page("local", Filter(), limit=9, cursor=None).explorations
        return next(e for e in found if e.request.idea == idea)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.02)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with FakeAnthropic([LOOK, hang(), REPORT]) as model:
        yield Machine(tmp_path, model)


def test_what_is_held_for_a_command_is_free_once_it_was_killed_and_not_before(
    machine: Machine,
) -> None:
    with machine.hanging() as other:
        refused, why = machine.explore()
        assert machine.named("Coffee").status == "running"
        other.send_signal(signal.SIGKILL)
        other.wait()

    done, said = machine.explore()

    lost = machine.named("Coffee")
    assert (refused, done) == (1, 0)
    assert "budget" in why
    assert (lost.status, lost.run.stats.steps) == ("failed", 1)
    assert f"{lost.id} was interrupted. Continue with: idea resume {lost.id}" in said


def test_a_server_ends_what_a_killed_command_left_running(machine: Machine) -> None:
    with machine.hanging() as killed:
        killed.send_signal(signal.SIGKILL)
        killed.wait()

    with Served(machine.folder, machine.env) as served, served.client() as client:
        url = f"/explorations/{machine.named('Coffee').id}"
        until(lambda: client.get(url).json()["status"] == "failed")
        told = client.get(f"{url}/events", headers={"Accept": "application/json"}).json()

    last = [event["data"] for event in told["events"]][-1]
    assert last == {"type": "status_changed", "from": "running", "to": "failed"}, json.dumps(told)


def test_a_run_that_is_alive_is_not_taken_from_its_command(machine: Machine) -> None:
    with machine.hanging():
        running = machine.named("Coffee")
        done = idea("resume", running.id, env=machine.env, folder=machine.folder)

        assert (done.returncode, done.stderr) == (
            1,
            f"idea: Exploration {running.id} is already running on this machine.\n",
        )
        assert machine.named("Coffee") == running
    assert len(machine.model.requests) == 2


def test_a_run_is_worked_on_as_long_as_any_process_is(tmp_path: Path) -> None:
    here, there, run = ProcessLock(tmp_path), ProcessLock(tmp_path), new_id(1)
    with there.held(run):
        with here.held(run):
            assert here.is_at_work(run)
        assert here.is_at_work(run)
        assert not here.is_at_work(new_id(2))
    assert not here.is_at_work(run)
    assert not list(tmp_path.iterdir())


def test_a_server_runs_nothing_that_a_command_was_killed_before_beginning(
    machine: Machine,
) -> None:
    left = machine.left_queued("Coffee")

    with Served(machine.folder, machine.env) as served, served.client() as client:
        until(lambda: client.get(f"/explorations/{left.id}").json()["status"] == "failed")

    assert machine.model.requests == []


def test_a_command_that_was_killed_before_it_began_is_resumed_as_it_is(machine: Machine) -> None:
    left = machine.left_queued("Coffee")

    done = idea("resume", left.id, env={}, folder=machine.folder)

    assert (done.returncode, machine.named("Coffee").run.number) == (0, 1)
