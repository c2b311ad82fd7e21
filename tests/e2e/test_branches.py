"""A deep run in the deployed service: a plan that a person edits, branches side by side, and one report."""

import threading
from dataclasses import dataclass, field

import httpx
import pytest

from idea_explorer.domain.ids import ExplorationId, branch_id
from idea_explorer.domain.limits import MAX_COST_USD
from idea_explorer.settings import MODELS
from tests.e2e.conftest import BRANCH, REPOSITORY
from tests.e2e.harness.minds import Minds
from tests.e2e.harness.stack import Stack
from tests.fakes.anthropic_scripts import BySubject, Model
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import Turn
from tests.fakes.anthropic_wire import JsonObject
from tests.fakes.billing import cost_of
from tests.fakes.desk import commits_of
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.reviewed_run import (
    ASKED,
    IDEA,
    answer_questions,
    check_claims,
    edit_plan,
    find_fact,
)

pytestmark = pytest.mark.slow

PATIENCE = 180.0  # seconds: four functions start at once


@dataclass
class Held:
    """A model that answers only once it is released."""

    model: Model
    released: threading.Event = field(default_factory=threading.Event)

    def __call__(self, request: JsonObject, index: int) -> Turn:
        self.released.wait(PATIENCE)
        return self.model(request, index)


@pytest.fixture
def repository(github: FakeGitHub) -> Repository:
    return github.create_repository(REPOSITORY, branch=BRANCH)


def test_a_deep_run_is_reviewed_branches_loses_two_and_ends_in_one_commit(
    stack: Stack, ada: httpx.Client, minds: Minds, anthropic: FakeAnthropic, repository: Repository
) -> None:
    held = Held(find_fact("law"))
    models = answer_questions(held)
    minds.about(IDEA, model=BySubject(models))
    before = anthropic.billed_by_model()
    sent = ada.post(
        "/explorations",
        json={"idea": IDEA, "depth": "deep", "review_plan": True},
    )
    assert sent.status_code == 202, sent.text
    exploration_id = ExplorationId(str(sent.json()["id"]))
    stack.wait(lambda: stack.status(exploration_id) == "awaiting_approval", seconds=PATIENCE)
    (approval,) = ada.get(f"/explorations/{exploration_id}/approvals").json()["approvals"]
    decided = ada.post(
        f"/explorations/{exploration_id}/approvals/{approval['id']}",
        json={"decision": "approve", "content": edit_plan(approval["content"])},
    )
    assert decided.status_code == 200, decided.text

    branches = [branch_id(exploration_id, number) for number in range(1, 5)]
    stack.wait(lambda: all(is_final(stack, b) for b in branches[:3]), seconds=PATIENCE)
    assert not is_final(stack, branches[3])
    stack.wait(lambda: len(stack.stores.transcripts.open(branches[3], 1).entries) > 1)
    assert stack.kill("ExploreFunction") == 1
    held.released.set()
    final = stack.wait_until_final(exploration_id, seconds=PATIENCE)

    assert final.status == "completed"
    ended = [stack.load(branch) for branch in branches]
    assert [branch.status for branch in ended] == ["completed", "completed", "failed", "completed"]
    assert [b.branch_of.question for b in ended if b.branch_of] == [*ASKED]
    assert len(commits_of(repository, exploration_id)) == 1
    assert stack.wait_for_execution(exploration_id) == "SUCCEEDED"
    stats = final.run.stats
    assert stats.cost_usd is not None
    bills = {
        model: used[len(before.get(model, ())) :]
        for model, used in anthropic.billed_by_model().items()
    }
    assert {model for model, used in bills.items() if used} == {MODELS["sonnet"], MODELS["haiku"]}
    assert cost_of(bills) <= stats.cost_usd < MAX_COST_USD
    # exact but for the call that was killed, which counts with the most it can have cost
    killed = cost_of(bills) - (stats.cost_usd - stats.unconfirmed_usd)
    possible = [0.0, *(cost_of({MODELS["sonnet"]: [bill]}) for bill in bills[MODELS["sonnet"]])]
    assert any(killed == pytest.approx(cost, abs=1e-6) for cost in possible)
    check_claims(stack.stores.reports.load_report(exploration_id), stats)
    listed = ada.get("/explorations").json()["explorations"]
    assert not {e["id"] for e in listed} & {*branches}
    events = ada.get(
        f"/explorations/{exploration_id}/events", headers={"Accept": "application/json"}
    ).json()["events"]
    kinds = [event["data"]["type"] for event in events]
    assert kinds.count("branch_started") == 4
    finished = {e["data"]["branch"]: e["data"]["status"] for e in events if is_end(e)}
    assert finished == {1: "completed", 2: "completed", 3: "failed", 4: "completed"}


def is_final(stack: Stack, exploration_id: ExplorationId) -> bool:
    return stack.status(exploration_id) in {"completed", "partial", "failed", "timed_out"}


def is_end(event: dict[str, dict[str, object]]) -> bool:
    return event["data"]["type"] == "branch_finished"
