"""A run and all of its branches together never cost more than the run may."""

from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.agent.branch_budget import share_budget
from idea_explorer.agent.budget import Budget, estimate_tokens
from idea_explorer.agent.requests import count_searches
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.transcript import Opening
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher
from idea_explorer.settings import MODELS, PRICES
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.jobs import explore_with_branches
from tests.fakes.branching import QUESTIONS, REPORT, DeepBench, DeepModel, plan_of, question_of
from tests.fakes.deps import PRICED
from tests.fakes.models import ScriptedModel, calls, judged, says

PRICE = PRICES[MODELS["sonnet"]]
DEEP = {"idea": "A tea room", "depth": "deep"}
OPENING = Opening(
    model_id=MODELS["sonnet"], system=[], tools=[], content=[{"type": "text", "text": "Tea"}]
)


class Spender(DeepModel):
    """Uses everything that each call may use: all searches, all tokens. Its report has to be corrected."""

    plan_tokens: int | None = None

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        searches = 0 if request.tools_off else count_searches(request.tools)
        usage = Usage(
            cache_write_tokens=estimate_tokens(request),
            input_tokens=searches * Budget().search_tokens,
            output_tokens=request.max_tokens,
            searches=searches,
        )
        if request.schema is not None:
            self.verifications.append(request)
            return judged(request, "not")
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        if not number:
            output = self.plan_tokens or request.max_tokens
            plan = replace(usage, output_tokens=output, searches=0)
            reply = calls(("write_plan", plan_of(*self.questions)), usage=plan)
        elif (question := question_of(request)) and not request.writing:
            read = f"{number}.md" if question in self.calls else "tea.md"
            self.calls[question] = number
            reply = calls(("read_research", {"path": read}), usage=usage)
        else:
            told = REPORT.replace("[Tea]", "[All tea]") if self.verifications else REPORT
            reply = says(f"{told}\n\n{'word ' * 5_000}", usage=usage)
        return ScriptedModel([reply]).answer(request, watcher, deadline)


class ShortPlanner(Spender):
    """Uses everything once it has a plan."""

    plan_tokens = limits.MIN_OUTPUT_TOKENS


@pytest.mark.parametrize("limit", [0.5, 1.0, 1.5, 2.0, 3.0, 5.0])
def test_branches_that_spend_all_they_can_stay_within_the_limit_of_the_run(
    tmp_path: Path, limit: float
) -> None:
    b = DeepBench(tmp_path, Spender())
    done = b.explore_all(max_cost_usd=limit)

    assert done.run.stats.cost_usd is not None
    assert done.run.stats.cost_usd <= limit
    assert done.run.stats.over_budget_usd == 0
    assert bool(b.findings(done)) == (limit >= 1.5)
    # the report is verified, and its correction, whatever the rest has cost
    assert len(b.deep.verifications) >= (limit >= 1.5) + (limit >= 2.0)


class Killed(BaseException):
    pass


class MortalSpender(Spender):
    """Dies in the first call of one branch, of which all that was reserved counts as spent."""

    died = False

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        if question_of(request) == QUESTIONS[0] and not self.died:
            self.died = True
            raise Killed
        return super().answer(request, watcher, deadline)


@pytest.mark.parametrize("limit", [1.5, 2.0, 3.0])
def test_a_run_of_which_a_branch_was_killed_stays_within_its_limit_too(
    tmp_path: Path, limit: float
) -> None:
    b = DeepBench(tmp_path, MortalSpender())
    queued = b.submit(depth="deep", max_cost_usd=limit)
    with pytest.raises(Killed):
        explore_with_branches(queued.id, 1, b.deps, explore)
    done = explore_with_branches(queued.id, 1, b.deps, explore)

    assert done.run.stats.over_budget_usd == 0
    assert done.run.stats.unconfirmed_usd > 0
    assert done.run.outcome == "completed"


@pytest.mark.parametrize("model", ["haiku", "sonnet", "opus"])
def test_the_least_budget_that_is_accepted_pays_for_branches_and_the_verification(
    tmp_path: Path, model: str
) -> None:
    least = PRICED.least_usd(ExploreRequest.model_validate({**DEEP, "model": model}))
    assert least is not None
    b = DeepBench(tmp_path, ShortPlanner())
    done = b.explore_all(model=model, max_cost_usd=round(least, 4) + 0.0001)

    assert len(b.findings(done)) == len(QUESTIONS)
    assert b.deep.verifications
    assert (done.run.stats.over_budget_usd, done.run.outcome) == (0, "completed")


def test_what_the_run_has_spent_and_what_its_report_costs_is_not_divided() -> None:
    budget = Budget(price=PRICE, max_cost_usd=3.0)
    share = share_budget(State([OPENING]), budget, 4, 3_500)

    assert share is not None
    assert share.usd is not None
    report = PRICE.cost(Usage(cache_write_tokens=38_400, output_tokens=8_750))
    assert 4 * share.usd <= 3.0 - 2 * report


def test_without_a_limit_branches_have_none() -> None:
    for budget in (Budget(price=PRICE), Budget()):
        share = share_budget(State([OPENING]), budget, 4, 3_500)
        assert share is not None
        assert share.usd is None


def test_a_limit_in_tokens_cannot_be_divided() -> None:
    assert share_budget(State([OPENING]), Budget(max_total_tokens=1_000_000), 4, 3_500) is None
