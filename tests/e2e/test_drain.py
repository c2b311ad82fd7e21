"""A small backlog of the kind that `make drain` works off a thousand of."""

from pathlib import Path

import pytest

from tests.e2e.drain import TOKEN, drain
from tests.e2e.harness.stack import Machine
from tests.fakes.github_server import FakeGitHub

pytestmark = pytest.mark.slow


def test_ten_jobs_delivered_five_times_each_are_done_once_each(
    machine: Machine, tmp_path: Path
) -> None:
    with FakeGitHub(tmp_path, token=TOKEN) as github:
        figures = drain(machine, github, jobs=10, deliveries=5)

    figures.check()
    assert figures.invocations["ExploreFunction"] == 10
