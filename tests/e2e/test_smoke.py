"""`idea admin smoke` against the service: green where all works, and red with the part that does not."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ANTHROPIC_KEY, BRANCH, GITHUB_TOKEN, REPOSITORY
from tests.e2e.harness.minds import Minds
from tests.e2e.harness.services import CREDENTIALS
from tests.e2e.harness.stack import Machine, Options, Stack
from tests.e2e.test_service import NOWHERE
from tests.fakes.command import Done, idea
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub

LEGS = ["accepted", "started", "first step", "report written", "published"]
GONE = {"StartAt": "Gone", "States": {"Gone": {"Type": "Fail", "Error": "Gone", "Cause": "Gone."}}}


@pytest.fixture(autouse=True)
def repository(github: FakeGitHub) -> Repository:
    github.grant(GITHUB_TOKEN, REPOSITORY, "write")  # another test may have revoked it
    return github._repositories[REPOSITORY]


def smoke(stack: Stack, folder: Path, *flags: str) -> Done:
    env = {**CREDENTIALS, "AWS_ENDPOINT_URL": stack.services.functions_url}
    return idea("admin", "smoke", "--stack", stack.name, *flags, env=env, folder=folder)


def problem_of(stack: Stack, folder: Path, seconds: int = 40) -> dict[str, str]:
    """What is said to be broken."""
    done = smoke(stack, folder, "--json", "--seconds", str(seconds))
    assert done.returncode == 1, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert not said["ok"]
    problem: dict[str, str] = said["problem"]
    assert problem["message"].endswith(".")
    assert problem["hint"]
    return problem


@contextmanager
def broken(machine: Machine, options: Options, **changes: Any) -> Iterator[Stack]:
    """A stack of its own, whose functions may be refused what they ask for."""
    changed = dataclasses.replace(options, **{"warm": (), "visibility_seconds": 1, **changes})
    stack = Stack(machine.services, machine.functions, changed)
    try:
        yield stack
    finally:
        stack.close()


def tokens_of(stack: Stack) -> list[str]:
    secrets = stack.services.client("secretsmanager")
    value = secrets.get_secret_value(SecretId=f"{stack.name}/api-tokens")["SecretString"]
    return [token["owner"] for token in json.loads(value)]


@pytest.mark.long
def test_it_goes_through_every_part_and_leaves_nothing_in_the_repository(
    stack: Stack, minds: Minds, repository: Repository, tmp_path: Path
) -> None:
    head, calls = repository.head(BRANCH), sum(minds.calls.values())

    done = smoke(stack, tmp_path, "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert (said["ok"], said["problem"]) == (True, None)
    assert [leg["name"] for leg in said["legs"]] == LEGS
    times = [leg["seconds"] for leg in said["legs"]]
    assert times == sorted(times)
    final = stack.load(said["id"])
    assert (final.owner, final.status, final.run.stats.cost_usd) == ("smoke", "completed", 0)
    assert stack.wait_for_execution(final.id) == "SUCCEEDED"
    assert sum(minds.calls.values()) == calls
    assert repository.head(BRANCH) == head
    assert "smoke" not in tokens_of(stack)
    assert ANTHROPIC_KEY not in done.stdout + done.stderr
    assert GITHUB_TOKEN not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_queue_that_is_not_connected(machine: Machine, options: Options, tmp_path: Path) -> None:
    with broken(machine, options) as stack:
        stack.disconnect_queue()

        problem = problem_of(stack, tmp_path)

        assert problem["part"] == "queue"
        assert problem["message"] == (
            "The queue is not connected to the dispatch function: its event source is Disabled."
        )
        assert problem["hint"].endswith("update-event-source-mapping --uuid poller --enabled")
        assert tokens_of(stack) == ["ada", "bob"]
        assert stack.waiting_messages() == 0


@pytest.mark.slow
def test_a_role_that_is_gone(machine: Machine, options: Options, tmp_path: Path) -> None:
    with broken(machine, options) as stack:
        stack.delete_role("PublishRole")

        problem = problem_of(stack, tmp_path)

    assert problem["part"] == "role"
    assert "PublishRole no longer exists" in problem["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "action", "sentence"),
    [
        ("ApiRole", "sqs:SendMessage", "-api lacks a permission: AWS SQS"),
        (
            "DispatchRole",
            "states:StartExecution",
            "-dispatch lacks a permission: AWS Step Functions",
        ),
        ("ExploreRole", "dynamodb:UpdateItem", "does not allow this"),
        ("PublishRole", "secretsmanager:GetSecretValue", "does not allow this"),
    ],
)
def test_a_role_that_lacks_a_permission(
    machine: Machine, options: Options, tmp_path: Path, role: str, action: str, sentence: str
) -> None:
    with broken(machine, options, denied={role: frozenset({action})}) as stack:
        # nothing happens to a run that is never announced, so there only the time ends the wait
        problem = problem_of(stack, tmp_path, seconds=10 if role == "ApiRole" else 60)

        assert problem["part"] == "role"
        assert sentence in problem["message"]
        assert tokens_of(stack) == ["ada", "bob"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("secret", "name"), [("AnthropicSecret", "anthropic"), ("GitHubSecret", "github")]
)
def test_a_secret_that_is_empty(
    machine: Machine, options: Options, tmp_path: Path, secret: str, name: str
) -> None:
    others = {known: value for known, value in options.secrets.items() if known != secret}
    with broken(machine, options, secrets=others) as stack:
        problem = problem_of(stack, tmp_path)

    assert problem["part"] == "secret"
    assert problem["message"] == f"The {name} secret is empty."
    assert problem["hint"] == f"Set it with: idea admin secret set {name} --stack {stack.name}"


@pytest.mark.slow
def test_a_workflow_that_fails(machine: Machine, options: Options, tmp_path: Path) -> None:
    with broken(machine, options) as stack:
        stack.services.client("stepfunctions").update_state_machine(
            stateMachineArn=stack.machine, definition=json.dumps(GONE)
        )

        problem = problem_of(stack, tmp_path)

    assert problem["part"] == "workflow"
    assert problem["message"] == "The workflow failed with Gone: Gone."


@pytest.mark.slow
def test_a_webhook_that_is_blocked(machine: Machine, options: Options, tmp_path: Path) -> None:
    parameters = {**options.parameters, "WebhookUrl": NOWHERE}
    with broken(machine, options, parameters=parameters) as stack:
        problem = problem_of(stack, tmp_path)

        assert problem["part"] == "webhook"
        assert problem["message"].startswith(f"The webhook {NOWHERE} was not delivered: ")
        (execution,) = stack.executions()
        stack.stop_execution(execution["name"].rpartition("-")[0])
