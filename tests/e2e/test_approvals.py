"""A run that waits for a person in the deployed service, and what a decision comes to.

Whatever is decided, how often and by how many: a change is written at most once, and everyone gets a
clear answer.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import GITHUB_TOKEN, client_of
from tests.e2e.harness.minds import Minds
from tests.e2e.harness.stack import Machine, Options, Stack
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub

pytestmark = pytest.mark.slow

OLD = "print('tea')\n"
NEW = "print('green tea')\n"
NAMES = ("twice", "both", "edited", "moved", "cancelled", "restarted", "expired")


@pytest.fixture(scope="module")
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/tea", {f"src/{name}.py": OLD for name in NAMES})


@pytest.fixture(scope="module")
def over_code(options: Options, repo: Repository) -> Options:
    return replace(options, parameters={**options.parameters, "GitHubRepository": repo.full_name})


@dataclass
class Waiting:
    """An exploration that waits in the workflow, and the change it waits for."""

    stack: Stack
    api: httpx.Client
    repo: Repository
    id: str
    approval: dict[str, Any]

    def decide(self, **decision: str) -> httpx.Response:
        place = f"/explorations/{self.id}/approvals/{self.approval['id']}"
        return self.api.post(place, json=decision)

    def decide_at_once(self, *decisions: dict[str, str]) -> list[httpx.Response]:
        with ThreadPoolExecutor(len(decisions)) as pool:
            return list(pool.map(lambda decision: self.decide(**decision), decisions))

    @property
    def written(self) -> list[str]:
        """The contents that were committed for it, newest first."""
        branch = f"idea-explorer/{self.id}"
        if branch not in self.repo.branches():
            return []
        commits = self.repo.git.run("rev-list", branch, "--not", "main").decode().split()
        return [self.repo.read_text(self.approval["path"], commit) for commit in commits]

    @property
    def pulls(self) -> list[str]:
        branch = f"idea-explorer/{self.id}"
        return [
            f"https://github.com/acme/tea/pull/{pull.number}"
            for pull in self.repo.pulls
            if pull.head == branch
        ]


def waiting(stack: Stack, api: httpx.Client, minds: Minds, repo: Repository, name: str) -> Waiting:
    path, idea = f"src/{name}.py", f"Make the {name} tea green"
    edit = {"path": path, "content": NEW, "description": "Make it green"}
    minds.about(
        idea,
        answer(tool_use("read_file", {"path": path})),
        answer(text("# Half\n\nA change is proposed."), tool_use("edit_file", edit)),
        answer(text("# Green tea\n\nThat was it.")),
    )
    sent = api.post("/explorations", json={"idea": idea, "toolset": "code"})
    assert sent.status_code == 202, sent.text
    exploration_id = str(sent.json()["id"])
    stack.wait(lambda: stack.status(exploration_id) == "awaiting_approval")
    (approval,) = api.get(f"/explorations/{exploration_id}/approvals").json()["approvals"]
    return Waiting(stack, api, repo, exploration_id, approval)


@pytest.fixture(scope="module")
def code(machine: Machine, over_code: Options) -> Iterator[Stack]:
    with machine.stack(over_code) as stack:
        yield stack


@pytest.fixture
def api(code: Stack) -> Iterator[httpx.Client]:
    with client_of(code, "ada") as client:
        yield client


def test_approved_twice_and_by_many_at_once_it_is_written_once(
    code: Stack, api: httpx.Client, minds: Minds, repo: Repository
) -> None:
    asked = waiting(code, api, minds, repo, "twice")
    assert "+print('green tea')" in asked.approval["diff"]

    votes = asked.decide_at_once(*[{"decision": "approve"}] * 4)
    votes.append(asked.decide(decision="approve"))
    final = code.wait_until_final(asked.id)
    votes.append(asked.decide(decision="approve"))

    assert [vote.status_code for vote in votes] == [200] * 6
    assert (final.status, [final.publication.url]) == ("completed", asked.pulls)
    assert asked.written == [NEW]
    listed = code.services.client("s3").list_objects_v2(
        Bucket=code.name, Prefix="snapshots/acme/tea/"
    )
    assert listed["KeyCount"] == 1


def test_of_approve_and_reject_at_once_one_stands_and_the_other_is_told(
    code: Stack, api: httpx.Client, minds: Minds, repo: Repository
) -> None:
    asked = waiting(code, api, minds, repo, "both")

    votes = asked.decide_at_once(*[{"decision": "approve"}, {"decision": "reject"}] * 3)
    final = code.wait_until_final(asked.id)

    assert sorted(vote.status_code for vote in votes) == [200] * 3 + [409] * 3
    (stands,) = {vote.json()["status"] for vote in votes if vote.status_code == 200}
    refused = {vote.json()["error"]["message"] for vote in votes if vote.status_code == 409}
    decision = {"approved": "approve", "rejected": "reject"}[stands]
    assert refused == {f"The decision was made already: {decision}."}
    assert final.status == "completed"
    assert asked.written == ([NEW] if stands == "approved" else [])
    assert len(asked.pulls) == len(asked.written)


def test_another_content_is_written_as_the_person_wrote_it_and_no_other_after_it(
    code: Stack, api: httpx.Client, minds: Minds, repo: Repository
) -> None:
    asked = waiting(code, api, minds, repo, "edited")
    mine = "print('white tea')\n"

    first = asked.decide(decision="approve", content=mine)
    others = [
        asked.decide(decision="approve"),
        asked.decide(decision="approve", content="other\n"),
        asked.decide(decision="reject", reason="No."),
    ]
    final = code.wait_until_final(asked.id)

    assert (first.status_code, first.json()["edited"]) == (200, True)
    assert [other.status_code for other in others] == [409] * 3
    assert final.status == "completed"
    assert asked.written == [mine]


def test_a_file_that_has_changed_meanwhile_is_not_overwritten_and_the_model_is_told(
    code: Stack, api: httpx.Client, minds: Minds, repo: Repository
) -> None:
    asked = waiting(code, api, minds, repo, "moved")
    repo.commit({"src/moved.py": "print('coffee')\n"})

    vote = asked.decide(decision="approve")
    final = code.wait_until_final(asked.id)

    assert vote.status_code == 200
    assert (final.status, final.publication.url) == ("completed", None)
    assert (asked.written, asked.pulls) == ([], [])
    events = api.get(
        f"/explorations/{asked.id}/events", headers={"Accept": "application/json"}
    ).json()["events"]
    (told,) = [e["data"] for e in events if e["data"]["type"] == "tool_call_error"]
    assert "src/moved.py has changed since the proposal was made" in told["error"]


def test_cancelled_while_it_waits_it_ends_without_a_report(
    code: Stack, api: httpx.Client, minds: Minds, repo: Repository
) -> None:
    asked = waiting(code, api, minds, repo, "cancelled")

    answered = api.post(f"/explorations/{asked.id}/cancel")
    late = asked.decide(decision="approve")
    final = code.wait_until_final(asked.id)
    ended = code.wait_for_execution(asked.id)
    report = api.get(f"/explorations/{asked.id}/report")

    assert (answered.status_code, late.status_code) == (202, 409)
    assert (final.status, ended) == ("cancelled", "SUCCEEDED")
    assert "is cancelled and has no report" in report.text  # what is said beside a call is thinking
    assert asked.written == []


def test_it_waits_across_a_restart_of_everything_and_writes_once(
    machine: Machine, over_code: Options, minds: Minds, repo: Repository
) -> None:
    """Every process of ours ends, thrice. What stands for AWS's services stays, as they do in the cloud:
    moto keeps its state in memory, and would lose it. The second restart may end the function that the
    message of the decision was delivered to: it is then delivered again, here after seconds."""
    impatient = replace(over_code, visibility_seconds=5)
    with machine.stack(impatient) as stack, client_of(stack, "ada") as ada:
        asked = waiting(stack, ada, minds, repo, "restarted")

        stack.restart()
        votes = asked.decide_at_once(*[{"decision": "approve"}] * 4)
        stack.restart()
        late = asked.decide(decision="reject")
        final = stack.wait_until_final(asked.id)
        stack.restart()
        after = asked.decide(decision="approve", content="other\n")
        ended = stack.wait_for_execution(asked.id)
        logs = stack.logs()

    assert [vote.status_code for vote in votes] == [200] * 4
    assert (late.status_code, after.status_code) == (409, 409)
    assert (final.status, ended) == ("completed", "SUCCEEDED")
    assert ([final.publication.url], asked.written) == (asked.pulls, [NEW])
    assert GITHUB_TOKEN not in logs


def test_a_change_that_nobody_decides_on_ends_partial_and_writes_nothing(
    machine: Machine, over_code: Options, minds: Minds, repo: Repository
) -> None:
    days = {"IDEA_APPROVAL_DAYS": str(4 / 86_400)}
    impatient = replace(over_code, environment={**over_code.environment, **days})
    with machine.stack(impatient) as stack, client_of(stack, "ada") as ada:
        asked = waiting(stack, ada, minds, repo, "expired")
        final = stack.wait_until_final(asked.id)
        late = asked.decide(decision="approve")
        ended = stack.wait_for_execution(asked.id)
        (shown,) = ada.get(f"/explorations/{asked.id}/approvals").json()["approvals"]
        report = ada.get(f"/explorations/{asked.id}/report")
        resumed = ada.post(f"/explorations/{asked.id}/resume", json={})
        again = stack.wait_until_final(asked.id) if resumed.status_code == 202 else None

    assert (final.status, late.status_code, ended) == ("partial", 409, "SUCCEEDED")
    assert late.json()["error"]["message"] == "The time to decide is over; nothing was written."
    assert (final.run.stats.stop_reason, shown["status"]) == ("approval_expired", "expired")
    assert final.run.receipt is not None
    assert "Nobody decided" in final.run.receipt.message
    assert "is partial and has no report" in report.text
    assert again is not None
    assert (again.run.number, again.status) == (2, "completed")
    assert (asked.written, asked.pulls) == ([], [])
