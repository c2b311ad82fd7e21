"""A deep run on this machine, against a server that speaks Anthropic's API: a plan that a person edits, four
branches of which one fails and one is killed, a report of which two claims are false, and one commit."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.adapters.claude import Claude
from idea_explorer.adapters.folder.git import GitFolder
from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.limits import MAX_COST_USD
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher
from idea_explorer.settings import MODELS
from idea_explorer.tools.plan import plan_tool
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.approvals.decide import DecisionRequest, decide
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.jobs import explore_with_branches
from idea_explorer.usecases.replay import replay
from tests.fakes.anthropic_scripts import BySubject
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.billing import cost_of
from tests.fakes.branching import DeepBench, DeepModel, question_of
from tests.fakes.reviewed_run import (
    ASKED,
    IDEA,
    QUESTIONS,
    answer_questions,
    check_claims,
    edit_plan,
    find_fact,
)


class Killed(BaseException):
    pass


class Mortal:
    """A model whose first call about one question never returns."""

    def __init__(self, model: Claude, question: str) -> None:
        self._model = model
        self._question: str | None = question

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        if question_of(request) == self._question:
            self._question = None
            raise Killed
        return self._model.answer(request, watcher, deadline)


def git(folder: Path, *command: str) -> str:
    done = subprocess.run(
        ["git", "-C", folder, *command], check=True, capture_output=True, text=True
    )
    return done.stdout


def test_a_deep_run_is_reviewed_loses_branches_is_verified_and_ends_in_one_commit(
    tmp_path: Path,
) -> None:
    models = answer_questions(last=find_fact("law"))
    b = DeepBench(tmp_path, DeepModel())
    for command in (
        ["init", "-q"],
        ["config", "user.name", "A"],
        ["config", "user.email", "a@b.c"],
    ):
        git(tmp_path, *command)
    publisher = FolderPublisher(tmp_path, tmp_path / "lock", GitFolder(tmp_path))
    b.deps = replace(b.deps, publisher=lambda: publisher)
    with FakeAnthropic(BySubject(models), expected_key="key") as server:
        plan = plan_tool(is_reviewed=True)
        tools = research_tools(Folder(tmp_path), "web_search_20250305", plan=plan)
        mortal = Mortal(Claude.with_key("key", server.url), QUESTIONS[3])
        b.engine = replace(b.engine, model=mortal, toolset_for=lambda *_: tools)
        queued = b.submit(IDEA, depth="deep", review_plan=True, max_cost_usd=MAX_COST_USD)
        waiting = explore_with_branches(queued.id, 1, b.deps, explore)
        assert waiting.status == "awaiting_approval"
        (approval,) = b.deps.approvals.approvals(queued.id)
        edited = edit_plan(approval.proposal.content)
        wanted = DecisionRequest(decision="approve", content=edited)
        decide(queued.id, approval.id, wanted, queued.owner, b.deps)
        with pytest.raises(Killed):
            explore_with_branches(queued.id, 1, b.deps, explore)
        reached = explore_with_branches(queued.id, 1, b.deps, explore)
        done = b.publish(reached)

    assert done.status == "completed"
    found = b.findings(done)
    assert [f.question for f in found] == [*ASKED]
    assert [f.status for f in found] == ["completed", "completed", "failed", "completed"]
    assert server.violations == []
    assert len(git(tmp_path, "log", "--format=%H").split()) == 1
    report = b.store.load_report(done.id)
    stats = done.run.stats
    assert stats.unmatched_citations == 0  # the branches' sources are the run's evidence
    check_claims(report, stats)
    bills = server.billed_by_model()
    assert {*bills} == {MODELS["sonnet"], MODELS["haiku"]}
    assert stats.cost_usd is not None
    assert stats.cost_usd - stats.unconfirmed_usd == pytest.approx(cost_of(bills), abs=1e-6)
    assert (
        0 < stats.unconfirmed_usd < stats.cost_usd < MAX_COST_USD
    )  # the call that was killed, at most
    replayed = replay(b.entries(done))
    assert (replayed.divergence, replayed.conclusion and replayed.conclusion.text) == ("", report)
