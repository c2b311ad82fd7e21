"""A run that waits for a person in the deployed service, and what a decision comes to."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import client_of
from tests.e2e.harness.minds import Minds
from tests.e2e.harness.stack import Machine, Options, Stack
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub

GITHUB_TOKEN = "a-github-token-that-must-never-be-logged"
FILES = {"src/app.py": "print('tea')\n"}
EDIT = {"path": "src/app.py", "content": "print('green tea')\n", "description": "Make it green"}
SCRIPT = (
    answer(tool_use("read_file", {"path": "src/app.py"})),
    answer(tool_use("edit_file", EDIT)),
    answer(text("# Green tea\n\nThe change is made.")),
)


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeGitHub]:
    with FakeGitHub(tmp_path_factory.mktemp("github"), token=GITHUB_TOKEN) as server:
        yield server


@pytest.fixture(scope="module")
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/tea", FILES)


@pytest.fixture(scope="module")
def over_code(options: Options, github: FakeGitHub, repo: Repository) -> Options:
    return replace(
        options,
        parameters={**options.parameters, "GitHubRepository": repo.full_name},
        environment={**options.environment, "GITHUB_API_URL": github.url},
        secrets={**options.secrets, "GitHubSecret": GITHUB_TOKEN},
    )


def waiting(stack: Stack, api: httpx.Client, idea: str) -> tuple[str, dict[str, Any]]:
    """An exploration that waits in the workflow, and the change it waits for."""
    sent = api.post("/explorations", json={"idea": idea, "toolset": "code"})
    assert sent.status_code == 202, sent.text
    exploration_id = str(sent.json()["id"])
    stack.wait(lambda: stack.status(exploration_id) == "awaiting_approval")
    (approval,) = api.get(f"/explorations/{exploration_id}/approvals").json()["approvals"]
    return exploration_id, approval


@pytest.mark.slow
def test_it_waits_across_a_restart_of_everything_and_writes_once(
    machine: Machine, over_code: Options, minds: Minds, repo: Repository
) -> None:
    minds.about("Make the tea green", *SCRIPT)
    with machine.stack(over_code) as stack, client_of(stack, "ada") as ada:
        exploration_id, approval = waiting(stack, ada, "Make the tea green")
        assert "+print('green tea')" in approval["diff"]
        place = f"/explorations/{exploration_id}/approvals/{approval['id']}"

        stack.restart()
        with ThreadPoolExecutor(4) as pool:
            votes = list(
                pool.map(lambda _: ada.post(place, json={"decision": "approve"}), range(4))
            )
        late = ada.post(place, json={"decision": "reject"})
        final = stack.wait_until_final(exploration_id)
        after = ada.post(place, json={"decision": "approve", "content": "other\n"})
        ended = stack.wait_for_execution(exploration_id)
        logs = stack.logs()

    assert [vote.status_code for vote in votes] == [200] * 4
    assert (late.status_code, after.status_code) == (409, 409)
    assert (final.status, ended) == ("completed", "SUCCEEDED")
    (pull,) = repo.pulls
    assert final.url == f"https://github.com/acme/tea/pull/{pull.number}"
    written = repo.git.run("log", "--format=%s", f"main..{pull.head}").decode().split("\n")
    assert [subject for subject in written if subject] == ["Make it green"]
    assert minds.calls["Make the tea green"] == 3
    assert GITHUB_TOKEN not in logs


@pytest.mark.slow
def test_a_change_that_nobody_decides_on_ends_partial_and_writes_nothing(
    machine: Machine, over_code: Options, minds: Minds, repo: Repository
) -> None:
    minds.about("Left alone", *SCRIPT)
    days = {"IDEA_APPROVAL_DAYS": str(4 / 86_400)}
    impatient = replace(over_code, environment={**over_code.environment, **days})
    branches = repo.branches()
    with machine.stack(impatient) as stack, client_of(stack, "ada") as ada:
        exploration_id, approval = waiting(stack, ada, "Left alone")
        final = stack.wait_until_final(exploration_id)
        place = f"/explorations/{exploration_id}/approvals/{approval['id']}"
        late = ada.post(place, json={"decision": "approve"})

    assert (final.status, late.status_code) == ("partial", 409)
    assert final.receipt is not None
    assert "Nobody decided" in final.receipt.message
    assert repo.branches() == branches
