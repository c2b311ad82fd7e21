"""What an exploration is estimated to take, from the table and from the runs before it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.estimate import Estimate, Range
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ExplorationPage, Filter
from idea_explorer.settings import MODELS, PRICES
from idea_explorer.usecases.estimate import READ_RECORDS, estimate, estimate_from
from idea_explorer.usecases.request_policy import RequestPolicy
from tests.fakes.clock import START
from tests.fakes.deps import make_deps

POLICY = RequestPolicy(model_ids=MODELS, prices=PRICES, max_cost_usd=2.0)


def ask(**fields: object) -> ExploreRequest:
    return ExploreRequest.model_validate({"idea": "A tea room", **fields})


def ended(
    cost_usd: float | None = 1.0,
    *,
    model: str = MODELS["sonnet"],
    minutes: float = 1.0,
    waited: timedelta = timedelta(),
    status: str = "completed",
    number: int = 1,
    steps: int = 4,
    **fields: object,
) -> Exploration:
    new = Exploration.new(ask(**fields), "ada", at=START)
    return new.replace(
        status=status,
        number=number,
        model_id=model,
        deadline_at=START + timedelta(seconds=new.request.seconds) + waited,
        finished_at=START + timedelta(minutes=minutes) + waited,
        stats=Stats(
            steps=steps, cost_usd=cost_usd, usage=Usage(input_tokens=90_000, output_tokens=5_000)
        ),
    )


def from_past(
    past: Sequence[Exploration], policy: RequestPolicy = POLICY, **fields: Any
) -> Estimate:
    return estimate_from(past, ask(**fields), policy)


def cost(told: Estimate) -> Range:
    assert told.cost_usd is not None
    return told.cost_usd


def test_without_earlier_runs_the_table_answers() -> None:
    told = from_past([])
    assert (told.runs, told.toolset, told.depth, told.model) == (0, "research", "quick", "sonnet")
    assert 0.05 < cost(told).low < 0.2 < cost(told).high < 1.2
    assert 0 < told.minutes.low < 1
    assert told.minutes.high == 2.0  # its deadline
    assert told.max_cost_usd == 2.0
    assert told.least_usd is not None
    assert 0.15 < told.least_usd < 0.2
    assert told.summary.endswith(
        "from the table for quick explorations; at most $2.00 plus any PDF it opens"
    )


def test_runs_of_the_same_kind_answer_once_there_are_five() -> None:
    runs = [ended(0.30 + 0.01 * n, minutes=1.0) for n in range(5)]
    assert from_past(runs[:4]).runs == 0
    told = from_past(runs)
    assert told.runs == 5
    assert cost(from_past([])).low < cost(told).low < 0.30
    assert 0.34 < cost(told).high < 0.8
    assert 0.5 < told.minutes.low < 1 < told.minutes.high < 2
    assert "from your last 5 quick explorations" in told.summary


@pytest.mark.parametrize(
    "other",
    [
        ended(1.0, model=MODELS["opus"]),
        ended(1.0, depth="standard"),
        ended(1.0, toolset="assistant"),
        ended(1.0, status="failed"),
        ended(1.0, status="cancelled"),
        ended(1.0, steps=0),
        ended(1.0, number=2),
    ],
)
def test_runs_of_another_kind_do_not_count(other: Exploration) -> None:
    assert from_past([other] * 9).runs == 0


def test_partial_runs_count() -> None:
    assert from_past([ended(0.3, status="partial")] * 6).runs == 6


def test_a_longer_prompt_costs_more_than_the_runs_before() -> None:
    past = [ended(0.3)] * 6
    assert cost(from_past(past, context="x" * 50_000)).high > cost(from_past(past)).high + 0.02


def test_steps_given_by_hand_count() -> None:
    few, many = from_past([], max_steps=3), from_past([], max_steps=12)
    assert cost(few).high < cost(from_past([])).high < cost(many).high


def test_what_it_may_cost_ends_the_range() -> None:
    told = from_past([], max_cost_usd=0.25)
    assert (cost(told).high, told.max_cost_usd) == (0.25, 0.25)
    left = estimate_from([], ask(), POLICY, left_usd=0.2)
    assert (cost(left).high, left.max_cost_usd) == (0.2, 0.2)


def test_a_wait_for_a_person_does_not_count_as_time() -> None:
    at_once, later = (
        from_past(
            [ended(0.3, minutes=2, waited=waited, depth="standard", review_plan=True)] * 6,
            depth="standard",
        ).minutes
        for waited in (timedelta(), timedelta(hours=9))
    )
    assert at_once == later
    assert at_once.high < 5


def test_a_model_without_a_price_is_told_in_tokens() -> None:
    told = from_past([], replace(POLICY, prices={}))
    assert (told.cost_usd, told.least_usd) == (None, None)
    assert 10_000 < told.tokens.low < told.tokens.high
    assert "tokens of a model whose price is not known" in told.summary
    unpriced = [ended(None)] * 6
    assert from_past(unpriced, replace(POLICY, prices={})).runs == 6


def test_the_offline_model_costs_nothing_and_waits_for_nothing() -> None:
    offline = replace(POLICY, model_ids=dict.fromkeys(MODELS, "offline"))
    told = from_past([], offline)
    assert told.summary.startswith("$0.00, less than a minute, ")


def test_the_dearer_model_costs_more() -> None:
    low, high = from_past([], model="haiku"), from_past([], model="opus")
    assert cost(low).high < cost(high).low


def test_a_request_that_would_be_refused_is_not_estimated(tmp_path: Path) -> None:
    deps = make_deps(tmp_path, policy=POLICY)
    with pytest.raises(InvalidRequestError, match="max_cost_usd"):
        estimate(ask(max_cost_usd=0.01), "ada", deps)


class CountedPages:
    """A store that says what was asked of it."""

    def __init__(self, explorations: Sequence[Exploration]) -> None:
        self.asked: list[tuple[str, Filter, int, str | None]] = []
        self._explorations = explorations

    def page(
        self, owner: str, wanted: Filter, *, limit: int, cursor: str | None
    ) -> ExplorationPage:
        self.asked.append((owner, wanted, limit, cursor))
        return ExplorationPage(self._explorations[:limit], "more")


def test_one_page_of_records_is_read_and_nothing_else_is_touched() -> None:
    """Without a filter: a filtered query of DynamoDB reads on until it has found enough."""
    store = CountedPages([ended(0.3)] * 200)
    deps = make_deps(None, store=store, policy=POLICY)  # type: ignore[arg-type]
    assert estimate(ask(), "ada", deps).runs == READ_RECORDS
    assert store.asked == [("ada", Filter(), READ_RECORDS, None)]
