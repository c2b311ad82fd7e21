"""The price is known before it is spent."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.research import Folder
from idea_explorer.agent.budget import (
    BYTES_PER_TOKEN,
    RESULT_TOKENS,
    WRITE_TOKENS,
    Budget,
    estimate_tokens,
)
from idea_explorer.agent.requests import count_page_tokens, count_pages, count_searches
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain import limits
from idea_explorer.domain.errors import NetworkError
from idea_explorer.domain.json import Block, JsonObject, json_size
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.transcript import ModelCallStarted
from idea_explorer.domain.turns import measure_fixed
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest
from idea_explorer.settings import MODELS, PRICES, Settings
from idea_explorer.tools import DIRECT_VERSION, web_fetch
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.replay import replay
from tests.adversarial import budget as adversarial
from tests.fakes import anthropic_turns
from tests.fakes.deps import PRICED
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, calls, says, scripted

SONNET = PRICES[MODELS["sonnet"]]
REQUEST = ModelRequest(
    model_id="claude-sonnet-5-5",
    system=[{"type": "text", "text": "x" * 10_000}],
    tools=[],
    messages=[{"role": "user", "content": [{"type": "text", "text": "idea"}]}],
    max_tokens=16_384,
    writing=True,
)


def test_sizes_that_are_known_change_no_estimate() -> None:
    tools: list[Block] = [{"name": "read_research", "description": "Liest für dich."}]
    request = replace(REQUEST, tools=tools, messages=[*REQUEST.messages] * 3)
    whole: JsonObject = {
        "system": [*request.system],
        "tools": [*tools],
        "messages": [*request.messages],
    }
    known = replace(
        request,
        fixed_size=measure_fixed(request.system, tools),
        messages_size=sum(map(json_size, request.messages)),
    )

    assert estimate_tokens(request) == int(json_size(whole) / BYTES_PER_TOKEN)
    assert estimate_tokens(known) == estimate_tokens(request)


def test_without_a_limit_nothing_is_lowered() -> None:
    allowance = Budget(price=SONNET).allow(REQUEST, [Usage()], searches=0)
    assert (allowance.max_tokens, allowance.fits) == (16_384, True)


def test_output_is_lowered_to_what_is_left() -> None:
    budget = Budget(price=SONNET, max_cost_usd=0.05)
    allowance = budget.allow(REQUEST, [Usage()], searches=0)
    assert 2_048 <= allowance.max_tokens < 16_384
    assert SONNET.cost(allowance.reserved) <= 0.05


def test_what_does_not_hold_a_report_does_not_fit() -> None:
    least = SONNET.cost(
        Usage(cache_write_tokens=estimate_tokens(REQUEST), output_tokens=limits.MIN_OUTPUT_TOKENS)
    )
    enough = Budget(price=SONNET, max_cost_usd=least + 0.0001)
    short = Budget(price=SONNET, max_cost_usd=least - 0.001)
    assert enough.allow(REQUEST, [Usage()], searches=0).fits
    assert not short.allow(REQUEST, [Usage()], searches=0).fits


def test_a_model_that_costs_nothing_fits_every_budget() -> None:
    budget = Budget(price=PRICES["offline"], max_cost_usd=0.01)

    allowance = budget.allow(REQUEST, [Usage(output_tokens=1_000_000)], searches=5)

    assert (allowance.max_tokens, allowance.fits) == (16_384, True)


def test_an_unknown_price_is_a_limit_in_tokens() -> None:
    budget = Budget(price=None, max_cost_usd=0.01, max_total_tokens=20_000)
    allowance = budget.allow(REQUEST, [Usage(output_tokens=10_000)], searches=0)
    assert allowance.max_tokens == 20_000 - 10_000 - estimate_tokens(REQUEST)


def test_searches_that_no_longer_fit_turn_the_tools_off(tmp_path: Path) -> None:
    bench = Bench(tmp_path, scripted([says("# Tea")]))
    done = bench.run(max_cost_usd=0.08)
    assert bench.engine.model.writing == [True]  # type: ignore[attr-defined]
    assert (done.status, done.run.stats.stop_reason) == ("partial", "budget")
    assert done.run.receipt is not None
    assert done.run.receipt.code == "BUDGET_EXCEEDED"


def test_a_budget_too_small_for_any_research_says_so_and_what_would_do(tmp_path: Path) -> None:
    bench = Bench(tmp_path, scripted([says("# Tea")]))
    done = bench.run(max_cost_usd=0.08)
    assert done.run.receipt is not None
    told = re.fullmatch(
        r"The budget was too small for research, so the report was written without it\. "
        r"Resuming it with research takes at least \$(0\.\d\d)\.",
        done.run.receipt.message,
    )
    assert told
    assert done.run.receipt.resume == f"idea resume {done.id} --max-cost-usd {told[1]}"
    bench.with_model(again := scripted([calls(("list_research", {})), says("# Tea, looked up")]))
    bench.resume(done, max_cost_usd=float(told[1]))
    assert again.writing[0] is False


@pytest.mark.parametrize(
    ("model", "usd", "searches"),
    [
        ("sonnet", 0.16, 1), ("sonnet", 0.25, 2), ("sonnet", 0.30, 1), ("sonnet", 0.34, 2),
        ("sonnet", 0.50, 5), ("opus", 0.35, 1), ("opus", 0.60, 1), ("opus", 0.70, 2),
        ("haiku", 0.02, 1),
    ],
)  # fmt: skip
def test_a_small_budget_looks_with_fewer_searches(
    tmp_path: Path, model: str, usd: float, searches: int
) -> None:
    bench = Bench(tmp_path, asked := scripted([calls(("list_research", {})), says("# Tea")]))
    done = bench.run(max_cost_usd=usd, model=model)
    assert asked.writing[0] is False
    assert [count_searches(request.tools) for request in asked.requests] == [searches] * 2
    assert bench.store.load_report(done.id) == "# Tea"


@pytest.mark.parametrize("model", ["sonnet", "opus", "haiku"])
@pytest.mark.parametrize("depth", ["quick", "standard"])
def test_the_least_that_is_accepted_pays_for_research(
    tmp_path: Path, model: str, depth: str
) -> None:
    fields = {"model": model, "depth": depth}
    least = PRICED.least_usd(ExploreRequest.model_validate({"idea": "A tea room", **fields}))
    looks = [calls(("list_research", {})), calls(("search_research", {"query": "tea"}))]
    bench = Bench(tmp_path, asked := scripted([*looks, says("# Tea")]))
    bench.policy = PRICED
    bench.run(max_cost_usd=math.ceil((least or 0) * 1_000) / 1_000, **fields)
    assert asked.writing[0] is False
    assert count_searches(asked.requests[0].tools) >= 1


def test_a_model_without_a_price_researches_by_default(tmp_path: Path) -> None:
    looks = [calls(("read_research", {"path": f"{n}.md"})) for n in range(2)]
    bench = Bench(tmp_path, asked := scripted([*looks, says("# Tea")]))
    bench.deps = replace(bench.deps, policy=replace(PRICED, prices={}))
    bench.engine = replace(bench.engine, max_total_tokens=Settings().max_total_tokens)
    done = bench.run()
    assert (done.status, done.run.stats.cost_usd, asked.writing[:2]) == (
        "completed", None, [False, False],
    )  # fmt: skip
    assert count_searches(asked.requests[0].tools) == limits.MAX_SEARCHES_PER_CALL


def pages_in(root: Path, pages: int) -> Toolset:
    fetch = web_fetch("web_fetch_20260318", pages, max_tokens=8_000)
    return research_tools(Folder(root), DIRECT_VERSION, reads_pages=fetch)


@pytest.mark.parametrize(
    ("usd", "pages", "looks"),
    [
        (0.12, 3, (1, 0)), (0.16, 3, (1, 0)), (0.25, 3, (1, 1)), (0.45, 3, (2, 2)), (0.60, 3, (4, 3)),
        (0.70, 3, (5, 3)), (0.70, 8, (4, 4)), (1.20, 8, (5, 8)),
    ],
)  # fmt: skip
def test_searches_and_pages_become_fewer_together(
    tmp_path: Path, usd: float, pages: int, looks: tuple[int, int]
) -> None:
    asked = scripted([calls(("list_research", {})), says("# Tea")])
    bench = Bench(tmp_path, asked, toolset=pages_in(tmp_path, pages))
    bench.run(max_cost_usd=usd)
    tools = asked.requests[0].tools
    assert (count_searches(tools), count_pages(tools)) == looks


def test_the_most_that_pages_can_come_to_is_reserved(tmp_path: Path) -> None:
    asked = scripted([calls(("list_research", {})), says("# Tea")])
    bench = Bench(tmp_path, asked, toolset=pages_in(tmp_path, 3))
    done = bench.run()
    started = next(e for e in bench.entries(done) if isinstance(e, ModelCallStarted))
    assert count_page_tokens(asked.requests[0].tools) == 3 * 10_000
    assert started.reserved.input_tokens == 5 * Budget().search_tokens + 3 * 10_000


@pytest.mark.parametrize("usd", [0.25, 0.45, 0.70, 1.20])
def test_the_worst_first_call_with_pages_stays_within_the_budget(
    tmp_path: Path, usd: float
) -> None:
    def worst(request: ModelRequest, number: int) -> ModelAnswer:
        if request.writing:
            return says("# Tea")
        searches, pages = count_searches(request.tools), count_pages(request.tools)
        usage = Usage(
            cache_write_tokens=estimate_tokens(request),
            input_tokens=searches * Budget().search_tokens + count_page_tokens(request.tools),
            output_tokens=request.max_tokens,
            searches=searches,
        )
        found: list[Block] = [b for n in range(searches) for b in _found(f"s{n}", "x" * 25_000)]
        read: list[Block] = [b for n in range(pages) for b in _read(f"f{n}", "x" * 40_000)]
        reading: Block = {"type": "tool_use", "id": "t", "name": "list_research", "input": {}}
        return ModelAnswer([*found, *read, reading], "tool_use", usage)

    bench = Bench(tmp_path, ScriptedModel(worst), toolset=pages_in(tmp_path, 8))

    done = bench.run(max_cost_usd=usd)

    assert bench.store.load_report(done.id).startswith("# Tea")
    assert (done.run.stats.cost_usd or 0) <= usd


@pytest.mark.parametrize("usd", [0.16, 0.18, 0.22, 0.30, 0.45])
def test_the_worst_first_call_leaves_the_price_of_a_report(tmp_path: Path, usd: float) -> None:
    def worst(request: ModelRequest, number: int) -> ModelAnswer:
        if request.writing:
            return says("# Tea")
        count = count_searches(request.tools)
        usage = Usage(
            cache_write_tokens=estimate_tokens(request),
            input_tokens=count * Budget().search_tokens,
            output_tokens=request.max_tokens,
            searches=count,
        )
        found: list[Block] = [b for n in range(count) for b in _found(f"s{n}", "x" * 25_000)]
        reading: Block = {"type": "tool_use", "id": "t", "name": "list_research", "input": {}}
        return ModelAnswer([*found, reading], "tool_use", usage)

    bench = Bench(tmp_path, model := ScriptedModel(worst))
    done = bench.run(max_cost_usd=usd)

    assert (model.writing, bench.store.load_report(done.id)) == ([False, True], "# Tea")
    assert (done.run.stats.cost_usd or 0) <= usd


def test_a_budget_that_is_large_enough_changes_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, scripted([calls(("list_research", {})), says("# Tea")]))
    assert bench.run(max_cost_usd=5).status == "completed"


def test_results_too_large_for_the_budget_are_cut_for_the_report(tmp_path: Path) -> None:
    paths = [f"d{n}.md" for n in range(12)]
    cheap = Usage(input_tokens=3_000, output_tokens=400)
    wanted: list[tuple[str, JsonObject]] = [("read_research", {"path": path}) for path in paths]
    reading = calls(*wanted, usage=cheap)
    bench = Bench(tmp_path, model := scripted([reading, says("# Tea\n\nSteeped.")]))
    for path in paths:
        bench.write(path, f"{path}: {'word ' * 10_000}")

    done = bench.run(max_cost_usd=0.50)

    assert (done.status, done.run.stats.stop_reason) == ("partial", "budget")
    assert bench.store.load_report(done.id).startswith("# Tea")
    assert model.writing == [False, True]
    (message,) = model.requests[1].messages
    assert all(f"{path}: word" in str(message) for path in paths)
    written = Budget(price=SONNET, max_cost_usd=0.50).allow(model.requests[1], [cheap], searches=0)
    assert written.max_tokens >= WRITE_TOKENS
    replayed = replay(bench.entries(done))
    assert (replayed.divergence, replayed.steps) == ("", 2)


def test_a_long_answer_is_kept_back_for_as_input_of_the_report() -> None:
    gathering = replace(REQUEST, writing=False)
    budget = Budget(price=SONNET, max_cost_usd=0.25)
    allowance = budget.allow(gathering, [Usage()], searches=0)
    grown = estimate_tokens(gathering) + RESULT_TOKENS + allowance.max_tokens
    writing = Usage(cache_write_tokens=grown, output_tokens=WRITE_TOKENS)
    assert limits.MIN_OUTPUT_TOKENS < allowance.max_tokens < 16_384
    assert SONNET.cost(allowance.reserved + writing) <= 0.25


def test_lost_attempts_that_use_the_budget_up_still_end_in_a_report(tmp_path: Path) -> None:
    lost = [NetworkError("reset")] * 3  # each is taken to have cost all it could
    bench = Bench(tmp_path, model := scripted([*lost, says("# Tea")]))

    done = bench.run(max_cost_usd=0.85)

    assert (done.status, done.run.stats.stop_reason) == ("partial", "budget")
    assert model.writing[-1]
    assert bench.store.load_report(done.id) == "# Tea"


def test_a_paused_search_that_cannot_be_paid_for_is_given_up_for_a_report(tmp_path: Path) -> None:
    blocks = [*_found("s0", "x" * 2_000), _search("s1")]
    paused = ModelAnswer(
        blocks, "pause_turn", Usage(input_tokens=60_000, output_tokens=1_500, searches=5)
    )
    bench = Bench(tmp_path, model := scripted([paused, says("# Tea\n\nFound.")]))

    done = bench.run(max_cost_usd=0.50)

    assert (done.status, done.run.stats.stop_reason) == ("partial", "budget")
    assert model.writing == [False, True]
    assert "https://tea.example" in str(model.requests[1].messages)
    assert replay(bench.entries(done)).divergence == ""


def _search(call: str) -> Block:
    return {"type": "server_tool_use", "id": call, "name": "web_search", "input": {"query": "tea"}}


def _found(call: str, text: str) -> list[Block]:
    page: Block = {"type": "web_search_result", "url": "https://tea.example", "title": "Tea",
                   "encrypted_content": text, "page_age": None}  # fmt: skip
    return [
        _search(call),
        {"type": "web_search_tool_result", "tool_use_id": call, "content": [page]},
    ]


def test_models_that_spend_all_they_can_stay_within_the_budget(tmp_path: Path) -> None:
    rows = adversarial.run(tmp_path, runs=12)
    assert set(rows) == set(adversarial.BEHAVIOURS)
    assert [v for row in rows.values() for v in row.violations] == []
    # and they really spend
    assert rows["always_calls"].closest > 0.2
    assert rows["always_searches"].closest > 0.2


def _read(call: str, text: str) -> list[Block]:
    asked, page = anthropic_turns.web_fetch(f"https://{call}.example/", text, call_id=call)
    return [asked, {**page, "tool_use_id": call}]
