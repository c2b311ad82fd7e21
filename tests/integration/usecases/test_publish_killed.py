"""Publishing by processes that are really killed: at every call to GitHub, before and after its effect."""

import subprocess
import sys
from pathlib import Path

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.exploration import Exploration
from tests.fakes.desk import Desk, calls_of_a_publication, commits_of, github_publisher
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.github_wire import ReceivedRequest

LEASE_SECONDS = 0.5  # a killed publisher holds the others up for this long


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", {"README.md": "hello\n"})


@pytest.fixture
def desk(github: FakeGitHub, tmp_path: Path) -> Desk:
    clock = SystemClock()
    publisher = github_publisher(github, tmp_path / "leases.db", clock, lease_seconds=LEASE_SECONDS)
    return Desk(SqliteStore(tmp_path / "explorations.db"), publisher, clock)


def publisher_process(
    folder: Path, github: FakeGitHub, exploration: Exploration
) -> "subprocess.Popen[bytes]":
    arguments = [str(folder), github.url, exploration.id, "1", str(LEASE_SECONDS)]
    return subprocess.Popen([sys.executable, "-m", "tests.fakes.publish_once", *arguments])


def kill_at(
    nth: int, *, acts: bool, github: FakeGitHub, folder: Path, exploration: Exploration
) -> int:
    """Kill a publisher while its nth call is under way; gives its exit code."""
    github.faults.clear()
    github.faults.drop(nth=nth, acts=acts)
    calls = 0

    def kill(moment: str, request: ReceivedRequest) -> None:
        nonlocal calls
        calls += moment == "after"
        if calls == nth and moment == "after":
            process.kill()
            process.wait()

    process = publisher_process(folder, github, exploration)
    github.on_request = kill
    code = process.wait(30)
    github.on_request = None
    github.faults.clear()
    return code


@pytest.mark.slow
def test_publishers_killed_at_every_call_leave_exactly_one_commit_each(
    desk: Desk, github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    calls = calls_of_a_publication(desk, github)
    killed_in: list[str] = []
    for nth in range(1, calls + 1):
        for acts in (False, True):
            exploration = desk.finished(idea=f"Killed at call {nth}, {acts}")
            code = kill_at(nth, acts=acts, github=github, folder=tmp_path, exploration=exploration)
            assert code < 0, (nth, acts)
            killed_in.append(github.requests[-1].method)
            final = desk.publish_as_the_workflow_does(exploration)
            assert final.status == "completed"
            assert len(commits_of(repo, exploration.id)) == 1, (nth, acts)
    commits = len(repo.log()) - 3
    print(f"processes killed: {len(killed_in)}, commits: {commits}")
    assert killed_in[-2:] == ["PATCH", "PATCH"]
    assert commits == len(killed_in) == 2 * calls
