"""A GitHub that cannot be used is found before anything is paid for, and the run has a proper end."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters import clock
from idea_explorer.adapters.aws.client import client
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.request_policy import RequestPolicy
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring.deps import cloud_deps, local_deps
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text
from tests.fakes.clock import QuickTime
from tests.fakes.command import Done, idea, log_lines
from tests.fakes.functions import Context, handler_of, set_environment
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.reports import business

NOBODY = "http://127.0.0.1:9"  # where nothing listens
REPORT = text(business("Urban bees", verdict="CONDITIONAL YES"))


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", {"README.md": "# Ideas\n"}, branch="trunk")


@pytest.fixture
def claude() -> Iterator[FakeAnthropic]:
    with FakeAnthropic([answer(REPORT)], expected_key="key") as server:
        yield server


class Team:
    """A folder with everything set to use Claude and GitHub."""

    def __init__(self, folder: Path, github: FakeGitHub, claude: FakeAnthropic) -> None:
        self._folder = folder
        self._known = {
            "ANTHROPIC_API_KEY": "key",
            "ANTHROPIC_BASE_URL": claude.url,
            "GITHUB_TOKEN": "t0ken",
            "GITHUB_REPOSITORY": "acme/ideas",
            "GITHUB_API_URL": github.url,
        }

    def run(self, *arguments: str, **variables: str) -> tuple[Done, Any]:
        env = self._known | variables
        done = idea(*arguments, "--json", env=env, folder=self._folder, waits=False)
        return done, json.loads(done.stdout)

    def explore(self, *flags: str, **variables: str) -> tuple[Done, Any]:
        return self.run("explore", "Bees in towns", *flags, **variables)

    def record(self, exploration_id: str) -> Exploration:
        settings = Settings(research_dir=self._folder)
        found = local_deps(settings, SilentLog()).explorations.load(exploration_id)  # type: ignore[arg-type]
        assert isinstance(found, Exploration)
        return found


@pytest.fixture
def team(tmp_path: Path, github: FakeGitHub, repo: Repository, claude: FakeAnthropic) -> Team:
    folder = tmp_path / "team"
    folder.mkdir()
    return Team(folder, github, claude)


def test_with_nothing_but_keys_and_a_name_a_report_lands_on_the_default_branch(
    team: Team, repo: Repository, claude: FakeAnthropic
) -> None:
    done, outcome = team.explore()

    assert (done.returncode, outcome["status"]) == (0, "completed"), done.stderr
    assert "**Verdict: CONDITIONAL YES**" in repo.read_text(outcome["path"])
    assert repo.log()[0].trailers["Exploration-Id"] == outcome["id"]
    assert repo.branches() == ["trunk"]
    assert len(claude.requests) == 1


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"GITHUB_TOKEN": "wrong"}, "GitHub refused the token (401). Check GITHUB_TOKEN."),
        ({"GITHUB_REPOSITORY": "acme/none"}, "GitHub does not know acme/none"),
        ({"GITHUB_TOKEN": "reader"}, "The token may read acme/ideas, but not write to it."),
        ({"GITHUB_BRANCH": "nope"}, "acme/ideas has no branch 'nope'."),
        ({"GITHUB_REPOSITORY": "acme/empty"}, "The repository acme/empty is empty."),
        ({"GITHUB_REPOSITORY": "acme/old"}, "acme/old is archived"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_what_will_last_ends_the_run_at_once(
    team: Team, github: FakeGitHub, claude: FakeAnthropic, variables: dict[str, str], says: str
) -> None:
    github.grant("reader", "acme/ideas", "read")
    github.create_repository("acme/empty")
    github.create_repository("acme/old", {"README.md": "# Old\n"}).archived = True
    done, outcome = team.explore("--quiet", **variables)

    assert (done.returncode, outcome["status"], outcome["content"]) == (1, "failed", None)
    assert says in outcome["error"]["message"]
    assert done.stderr.splitlines() == [f"idea: {outcome['error']['message']}"]
    assert claude.requests == []
    record = team.record(outcome["id"])
    assert (record.status, record.run.stats.cost_usd or 0.0) == ("failed", 0.0)
    assert record.run.receipt is not None
    assert record.run.receipt.resume == f"idea resume {outcome['id']}"


def test_an_apps_token_publishes_although_its_permissions_say_no(
    team: Team, github: FakeGitHub
) -> None:
    github.grant("ghs_app", "acme/ideas", "app")
    done, outcome = team.explore(GITHUB_TOKEN="ghs_app")
    assert (done.returncode, outcome["status"]) == (0, "completed"), done.stderr


def test_nobody_to_be_reached_ends_the_run_after_some_tries(
    team: Team, claude: FakeAnthropic
) -> None:
    done, outcome = team.explore("--deadline-seconds", "60", GITHUB_API_URL=NOBODY)

    assert (done.returncode, outcome["status"]) == (1, "failed")
    said = outcome["error"]["message"]
    assert said == "GitHub could not be reached. Check the network and GITHUB_API_URL."
    assert outcome["error"]["code"] == "GITHUB_UNAVAILABLE"
    assert claude.requests == []
    assert len(log_lines(done.stderr, "repository_retry_attempt")) >= 1


def test_what_passes_is_waited_for(team: Team, github: FakeGitHub, repo: Repository) -> None:
    github.faults.fail(502, "/repos/acme/ideas$", times=1)
    github.faults.fail(403, "/repos/acme/ideas$", nth=2, headers={"Retry-After": "1"})
    done, outcome = team.explore()

    assert (done.returncode, outcome["status"]) == (0, "completed"), done.stderr
    assert [request.status for request in github.requests[:3]] == [502, 403, 200]
    waited = log_lines(done.stderr, "repository_retry_attempt")
    assert [line["errorType"] for line in waited] == ["service_unavailable", "rate_limited"]


def test_a_limit_that_outlasts_the_run_is_not_waited_for(
    team: Team, github: FakeGitHub, claude: FakeAnthropic
) -> None:
    github.limits.exhaust(seconds=1_800)
    done, outcome = team.explore()

    assert (done.returncode, outcome["status"]) == (1, "failed")
    assert "rate limit" in outcome["error"]["message"]
    assert len(github.requests) == 1
    assert claude.requests == []


def test_a_failed_run_is_resumed_once_github_is_back(
    team: Team, github: FakeGitHub, repo: Repository
) -> None:
    _, failed = team.explore(GITHUB_TOKEN="wrong")
    done, outcome = team.run("resume", failed["id"])

    assert (done.returncode, outcome["status"]) == (0, "completed"), done.stderr
    assert repo.log()[0].trailers["Exploration-Run"] == "2"


def test_what_only_has_to_be_published_is_published_by_a_resume(
    team: Team, github: FakeGitHub, repo: Repository, claude: FakeAnthropic
) -> None:
    repo.protect("trunk")
    _, failed = team.explore()
    repo.protected.clear()
    done, outcome = team.run("resume", failed["id"])

    assert failed["status"] == "failed"
    assert (done.returncode, outcome["status"]) == (0, "completed"), done.stderr
    assert len(claude.requests) == 1


def test_reuse_of_what_cannot_be_read_runs_nothing(team: Team, claude: FakeAnthropic) -> None:
    done, outcome = team.explore("--if-exists", "reuse", GITHUB_TOKEN="wrong")

    assert (done.returncode, outcome["status"]) == (1, "failed")
    assert "refused the token" in outcome["error"]["message"]
    assert claude.requests == []


def test_a_document_to_continue_from_that_cannot_be_read_runs_nothing(
    team: Team, claude: FakeAnthropic
) -> None:
    other = "0193f5b6-0000-7000-8000-000000000000"
    done, outcome = team.explore("--continue-from", other, GITHUB_TOKEN="wrong")

    assert (done.returncode, outcome["status"]) == (1, "failed")
    assert claude.requests == []


@pytest.mark.parametrize("variables", [{"GITHUB_TOKEN": "wrong"}, {"GITHUB_REPOSITORY": "acme/no"}])
def test_code_that_cannot_be_read_is_found_too(
    team: Team, claude: FakeAnthropic, variables: dict[str, str]
) -> None:
    done, outcome = team.explore("--toolset", "code", **variables)

    assert (done.returncode, outcome["status"]) == (1, "failed")
    assert "GitHub" in outcome["error"]["message"]
    assert claude.requests == []


def test_code_is_explored_with_a_token_that_may_only_read(team: Team, github: FakeGitHub) -> None:
    github.grant("reader", "acme/ideas", "read")
    done, outcome = team.explore("--toolset", "code", GITHUB_TOKEN="reader")
    assert (done.returncode, outcome["status"]) == (0, "completed"), done.stderr


def test_other_toolsets_never_ask_github(team: Team, github: FakeGitHub) -> None:
    done, _ = team.explore("--toolset", "assistant", GITHUB_TOKEN="wrong")
    assert done.returncode == 0, done.stderr
    assert github.requests == []


class Deployment:
    """The explore function of a deployment whose GitHub token is a secret."""

    def __init__(self, aws: Settings, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
        self.secrets = client("secretsmanager")
        self.secrets.create_secret(Name="ideas-github", SecretString="t0ken")
        known = {
            "github_repository": "acme/ideas",
            "github_api_url": github.url,
            "github_secret_id": "ideas-github",
        }
        self.settings = aws.model_copy(update=known)
        set_environment(self.settings, monkeypatch)
        self._stores = cloud_deps(self.settings, SilentLog())

    def explored(self, **request: Any) -> Exploration:
        wanted = ExploreRequest(idea="Urban bees", **request)
        new = submit(wanted, "ada", replace(self._stores, policy=RequestPolicy()))
        event = {"id": new.id, "run": 1, "deadline_seconds": request.get("deadline_seconds", 120)}
        handler_of("explore")(event, Context())
        return self._stores.explorations.load(new.id)

    def events(self, exploration: Exploration) -> list[Any]:
        return [json.loads(event.data) for event in self._stores.events.read(exploration.id)]


@pytest.fixture
def deployed(
    aws: Settings, github: FakeGitHub, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> Deployment:
    monkeypatch.setattr(clock, "time", QuickTime())
    return Deployment(aws, github, monkeypatch)


def test_the_deployed_function_says_what_to_do_about_a_refused_token(
    deployed: Deployment, github: FakeGitHub
) -> None:
    github.access.revoke("t0ken")

    failed = deployed.explored()

    assert (failed.status, failed.run.stats.steps) == ("failed", 0)
    assert failed.run.receipt is not None
    said = "GitHub refused the token (401). Set another with 'idea admin secret set github'."
    assert (failed.run.receipt.message, failed.run.receipt.resume) == (
        said,
        f"idea resume {failed.id}",
    )
    *_, told, ended = deployed.events(failed)
    assert (told["message"], ended["to"]) == (said, "failed")


def test_the_deployed_function_waits_and_then_gives_a_final_record(
    deployed: Deployment, github: FakeGitHub
) -> None:
    github.faults.fail(503, times=2)
    passed = deployed.explored()
    github.faults.clear()
    github.limits.exhaust(seconds=1_800)
    failed = deployed.explored()

    assert (passed.status, passed.run.outcome) == ("running", "completed")
    assert (failed.status, failed.run.receipt and failed.run.receipt.has_partial_text) == (
        "failed",
        False,
    )


def test_a_rotated_token_is_used_at_once(deployed: Deployment, github: FakeGitHub) -> None:
    before = deployed.explored()
    github.grant("rotated", "acme/ideas", "write")
    github.access.revoke("t0ken")
    deployed.secrets.put_secret_value(SecretId="ideas-github", SecretString="rotated")

    earlier = len(github.requests)
    after = deployed.explored()

    assert (before.run.outcome, after.run.outcome) == ("completed", "completed")
    refused, *answered = [r for r in github.requests[earlier:] if "codeload" not in r.path]
    assert refused.status == 401
    # what was read anew is remembered: nobody sends the old one again
    assert {r.headers["authorization"] for r in answered} == {"Bearer rotated"}
