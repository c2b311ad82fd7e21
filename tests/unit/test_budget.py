"""The price is known before it is spent."""

from pathlib import Path

import pytest

from idea_explorer.agent.budget import Budget, estimated_tokens
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelRequest
from idea_explorer.settings import MODELS, PRICES
from tests.adversarial import budget as adversarial
from tests.fakes.engine import Bench
from tests.fakes.models import calls, says, scripted

SONNET = PRICES[MODELS["sonnet"]]
REQUEST = ModelRequest(
    model_id="claude-sonnet-5-5",
    system=[{"type": "text", "text": "x" * 10_000}],
    tools=[],
    messages=[{"role": "user", "content": [{"type": "text", "text": "idea"}]}],
    max_tokens=16_384,
    tools_off=True,
)


def test_without_a_limit_nothing_is_lowered() -> None:
    allowance = Budget(price=SONNET).allow(REQUEST, Usage(), searches=0)
    assert (allowance.max_tokens, allowance.fits) == (16_384, True)


def test_output_is_lowered_to_what_is_left() -> None:
    budget = Budget(price=SONNET, max_cost_usd=0.05)
    allowance = budget.allow(REQUEST, Usage(), searches=0)
    assert 2_048 <= allowance.max_tokens < 16_384
    assert SONNET.cost(allowance.reserved) <= 0.05


def test_what_does_not_hold_a_report_does_not_fit() -> None:
    least = Budget(price=SONNET).least(REQUEST)
    assert least is not None
    enough = Budget(price=SONNET, max_cost_usd=least + 0.0001)
    short = Budget(price=SONNET, max_cost_usd=least - 0.001)
    assert enough.allow(REQUEST, Usage(), searches=0).fits
    assert not short.allow(REQUEST, Usage(), searches=0).fits


def test_a_model_that_costs_nothing_fits_every_budget() -> None:
    budget = Budget(price=PRICES["offline"], max_cost_usd=0.01)

    allowance = budget.allow(REQUEST, Usage(output_tokens=1_000_000), searches=5)

    assert (allowance.max_tokens, allowance.fits) == (16_384, True)


def test_an_unknown_price_is_a_limit_in_tokens() -> None:
    budget = Budget(price=None, max_cost_usd=0.01, max_total_tokens=20_000)
    assert budget.least(REQUEST) is None
    allowance = budget.allow(REQUEST, Usage(output_tokens=10_000), searches=0)
    assert allowance.max_tokens == 20_000 - 10_000 - estimated_tokens(REQUEST)


def test_searches_that_no_longer_fit_turn_the_tools_off(tmp_path: Path) -> None:
    bench = Bench(tmp_path, scripted([says("# Tea")]))
    done = bench.run(max_cost_usd=0.25)
    assert bench.engine.model.tools_off == [True]  # type: ignore[attr-defined]
    assert (done.status, done.stats.stop_reason) == ("partial", "budget")
    assert done.receipt is not None
    assert done.receipt.code == "BUDGET_EXCEEDED"


def test_a_budget_that_is_large_enough_changes_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, scripted([calls(("list_research", {})), says("# Tea")]))
    assert bench.run(max_cost_usd=5).status == "completed"


def test_models_that_spend_all_they_can_stay_within_the_budget(tmp_path: Path) -> None:
    rows = adversarial.run(tmp_path, runs=25)
    assert set(rows) == set(adversarial.BEHAVIOURS)
    assert [v for row in rows.values() for v in row.violations] == []


@pytest.mark.parametrize("name", ["always_calls", "always_searches"])
def test_the_adversaries_really_spend(tmp_path: Path, name: str) -> None:
    rows = adversarial.run(tmp_path, runs=10)
    assert rows[name].closest > 0.2
