"""The checks of an exploration's branch, read back from GitHub."""

import pytest

from idea_explorer.adapters.github.branches import branch_of
from idea_explorer.adapters.github.checks import WAIT_SECONDS, GitHubChecks
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.domain.checks import MAX_OUTPUT_CHARS, CheckResult, have_passed
from idea_explorer.domain.errors import ConfigurationError, UnavailableError
from idea_explorer.domain.exploration import Exploration
from tests.fakes.clock import ManualClock
from tests.fakes.explorations import an_exploration
from tests.fakes.github_repository import CheckRun, Repository, Status
from tests.fakes.github_server import FakeGitHub


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/tea", {"a.txt": "x\n"})


@pytest.fixture
def exploration() -> Exploration:
    return an_exploration()


@pytest.fixture
def tip(repo: Repository, exploration: Exploration) -> str:
    """The commit of an approved change."""
    repo.create_branch(branch_of(exploration.id))
    return repo.commit({"a.txt": "y\n"}, branch=branch_of(exploration.id))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def checks(
    github: FakeGitHub, repo: Repository, exploration: Exploration, clock: ManualClock
) -> GitHubChecks:
    client = GitHubClient(repo.full_name, lambda: "t0ken", github.url)
    return GitHubChecks(lambda: client, exploration.id, clock)


def test_runs_and_statuses_are_read(checks: GitHubChecks, repo: Repository, tip: str) -> None:
    repo.check_runs[tip] = [
        CheckRun("build", title="All good"),
        CheckRun("test", conclusion="failure", summary="1 failed", text="tea.py:3 \x1b[31mcold"),
        CheckRun("docs", conclusion="skipped"),
        CheckRun("deploy", conclusion="cancelled"),
    ]
    repo.statuses[tip] = [Status("ci/old", "success", "fine"), Status("ci/bad", "error")]

    assert checks.ask_first() is None
    results = checks.run(None)

    assert results == [
        CheckResult(name="build", outcome="passed", detail="All good"),
        CheckResult(
            name="test",
            outcome="failed",
            detail="failure",
            output="1 failed\ntea.py:3 \\x1b[31mcold",
        ),
        CheckResult(name="docs", outcome="skipped", detail="skipped"),
        CheckResult(name="deploy", outcome="stopped", detail="cancelled"),
        CheckResult(name="ci/old", outcome="passed", detail="fine"),
        CheckResult(name="ci/bad", outcome="failed", detail="error"),
    ]
    assert not have_passed(results)
    assert [result.name for result in checks.run("test")] == ["test"]


def test_checks_that_still_run_are_waited_for_but_not_for_long(
    checks: GitHubChecks, repo: Repository, tip: str, clock: ManualClock
) -> None:
    repo.check_runs[tip] = [CheckRun("test", status="in_progress", conclusion=None)]

    (result,) = checks.run(None)

    assert result.outcome == "pending"
    assert 0 < sum(clock.slept) <= WAIT_SECONDS


def test_a_check_that_ends_meanwhile_is_read(
    github: FakeGitHub, checks: GitHubChecks, repo: Repository, tip: str, clock: ManualClock
) -> None:
    run = CheckRun("test", status="queued", conclusion=None)
    repo.check_runs[tip] = [run]

    def end(moment: str, request: object) -> None:
        if len(clock.slept) == 2:
            run.status, run.conclusion = "completed", "success"

    github.on_request = end
    (result,) = checks.run(None)

    assert result.outcome == "passed"
    assert len(clock.slept) == 2


def test_a_repository_without_checks_has_none(checks: GitHubChecks, tip: str) -> None:
    assert checks.run(None) == []
    assert not have_passed([])


def test_before_any_change_there_is_nothing_to_check(checks: GitHubChecks) -> None:
    with pytest.raises(ConfigurationError, match="No change was approved yet"):
        checks.run(None)


def test_a_token_without_the_permission_is_told_which_it_needs(
    github: FakeGitHub, checks: GitHubChecks, tip: str
) -> None:
    github.faults.fail(403, "check-runs", times=None)

    with pytest.raises(ConfigurationError, match="'Checks' and 'Commit statuses'"):
        checks.run(None)


def test_an_outage_is_an_outage(github: FakeGitHub, checks: GitHubChecks, tip: str) -> None:
    github.faults.fail(503, "check-runs", times=None)

    with pytest.raises(UnavailableError):
        checks.run(None)


def test_a_job_that_failed_says_why_at_the_end_of_its_log(
    checks: GitHubChecks, repo: Repository, tip: str
) -> None:
    lines = [f"2026-11-17T16:00:00.{n:07d}Z line {n} \x1b[31m" for n in range(2_000)]
    repo.check_runs[tip] = [
        CheckRun("test", conclusion="failure", log="\n".join(lines)),
        CheckRun("lint", conclusion="failure", log="plain\n2026 was good\n"),
        CheckRun("build", log="not read: it passed"),
        CheckRun("secret", conclusion="failure"),
    ]

    test, lint, build, secret = checks.run(None)

    assert test.output.endswith("\nline 1999 \\x1b[31m")
    assert (len(test.output), test.output_cut) == (MAX_OUTPUT_CHARS, True)
    assert (lint.output, lint.output_cut) == ("plain\n2026 was good", False)
    assert build.output == ""
    assert secret.detail == "failure; its log needs the permission 'Actions', to read"


def test_the_logs_of_many_failures_are_not_all_read(
    checks: GitHubChecks, repo: Repository, tip: str
) -> None:
    failed = [CheckRun(f"test {n}", conclusion="failure", log="cold") for n in range(8)]
    repo.check_runs[tip] = failed

    assert [result.output for result in checks.run(None)] == ["cold"] * 5 + [""] * 3
