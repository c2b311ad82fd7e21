"""A run and all of its branches together never cost more than the run may."""

from pathlib import Path

import pytest

from idea_explorer.agent.branch_budget import share_budget
from idea_explorer.agent.budget import Budget, estimate_tokens
from idea_explorer.agent.requests import count_searches
from idea_explorer.agent.state import State
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.transcript import Opening
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher
from idea_explorer.settings import MODELS, PRICES
from tests.fakes.branching import DeepBench, DeepModel, plan_of, question_of
from tests.fakes.models import ScriptedModel, calls, says

PRICE = PRICES[MODELS["sonnet"]]
OPENING = Opening(
    model_id=MODELS["sonnet"], system=[], tools=[], content=[{"type": "text", "text": "Tea"}]
)


class Spender(DeepModel):
    """Uses everything that each call may use: all searches, all tokens."""

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        searches = 0 if request.tools_off else count_searches(request.tools)
        usage = Usage(
            cache_write_tokens=estimate_tokens(request),
            input_tokens=searches * Budget().search_tokens,
            output_tokens=request.max_tokens,
            searches=searches,
        )
        with self._lock:
            first = not self.requests
            self.requests.append(request)
        if first:
            reply = calls(("write_plan", plan_of(*self.questions)), usage=usage)
        elif question_of(request) and not request.writing:
            number = len(self.requests)
            reply = calls(("read_research", {"path": f"{number}.md"}), usage=usage)
        else:
            reply = says("# Tea\n\n" + "word " * 200, usage=usage)
        return ScriptedModel([reply]).answer(request, watcher, deadline)


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
