"""From the report to one commit, whatever dies or refuses on the way."""

import httpx
import pytest

from tests.e2e.conftest import BRANCH, GITHUB_TOKEN, REPOSITORY
from tests.e2e.harness.stack import Stack
from tests.fakes.github_repository import Commit, Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.github_wire import ReceivedRequest


@pytest.fixture
def repository(github: FakeGitHub) -> Repository:
    return github.create_repository(REPOSITORY, branch=BRANCH)


def commits_of(repository: Repository, exploration_id: str) -> list[Commit]:
    return [commit for commit in repository.log() if exploration_id in commit.message]


@pytest.mark.long
def test_a_report_becomes_one_commit_that_names_its_exploration(
    stack: Stack, repository: Repository, ada: httpx.Client
) -> None:
    exploration_id = ada.post("/explorations", json={"idea": "Bees to publish"}).json()["id"]

    final = stack.wait_until_final(exploration_id)

    assert (final.status, final.publication.branch) == ("completed", BRANCH)
    (commit,) = commits_of(repository, exploration_id)
    assert f"Exploration-Id: {exploration_id}" in commit.message
    assert "There is a market." in repository.read_text(str(final.publication.document))


@pytest.mark.slow  # the dead one's turn at the branch has to run out first
def test_a_publisher_killed_after_its_commit_publishes_once(
    stack: Stack, github: FakeGitHub, repository: Repository
) -> None:
    killed: list[int] = []

    def kill_once(moment: str, request: ReceivedRequest) -> None:
        if moment == "after" and request.method == "PATCH" and not killed:
            killed.append(stack.kill("PublishFunction"))

    github.on_request = kill_once
    (exploration_id,) = stack.send({"idea": "Killed after its commit"})
    final = stack.wait_until_final(exploration_id)
    github.on_request = None

    assert killed == [1]
    assert final.status == "completed"
    assert len(commits_of(repository, exploration_id)) == 1


@pytest.mark.slow
def test_a_limit_of_github_is_waited_for_by_the_workflow(
    stack: Stack, github: FakeGitHub, repository: Repository
) -> None:
    limit = b'{"message": "You have exceeded a secondary rate limit."}'
    github.faults.fail(403, "/git/trees", "POST", times=2, body=limit, headers={"Retry-After": "1"})

    (exploration_id,) = stack.send({"idea": "Limited by GitHub"})

    assert stack.wait_until_final(exploration_id).status == "completed"
    assert len(commits_of(repository, exploration_id)) == 1
    github.faults.clear()


@pytest.mark.long
def test_a_rotated_token_is_used_without_a_deploy(stack: Stack, github: FakeGitHub) -> None:
    github.grant("a-new-token", REPOSITORY, "write")
    github.access.revoke(GITHUB_TOKEN)
    stack.set_secret("GitHubSecret", "a-new-token")

    (exploration_id,) = stack.send({"idea": "Published with a new token"})

    assert stack.wait_until_final(exploration_id).status == "completed"


@pytest.mark.slow
def test_a_webhook_that_cannot_arrive_changes_nothing(stack: Stack) -> None:
    (exploration_id,) = stack.send(
        {"idea": "Nobody listens", "webhook_url": "https://hooks.invalid/ideas"}
    )

    final = stack.wait_until_final(exploration_id)

    assert final.status == "completed"
    stack.wait(lambda: stack.load(exploration_id).delivery.attempts > 3)  # tried again by itself
    told = stack.load(exploration_id)
    assert (told.status, told.delivery.status) == ("completed", "pending")
    stack.stop_execution(exploration_id)
    assert stack.load(exploration_id).status == "completed"
